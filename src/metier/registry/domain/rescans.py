"""Scans of releases that the registry already has, with the rules of today."""

from __future__ import annotations

from importlib import import_module

import msgspec

from metier.archive import unpack
from metier.registry.wire import ReleaseFinding
from metier.scan import SkillTraits, skill_traits
from metier.values import dataclass

from .admission import ReleaseScanner, findings_from, scan_release
from .protocols import RegistryStore
from .records import AuditEvent, Millis, Package, Release, ReleaseState, ScanStatus

__all__ = ["Rescan", "named_scanner", "record_rescan", "rescan_archive"]


@dataclass(frozen=True, slots=True)
class Rescan:
    verdict: ScanStatus
    findings: tuple[ReleaseFinding, ...]
    traits: SkillTraits = SkillTraits()

    @property
    def findings_json(self) -> str:
        return msgspec.json.encode(self.findings).decode()


def named_scanner(name: str) -> ReleaseScanner:
    """Returns the scanner `module:function`. A name, not a function: other processes and machines are sent it."""
    module, _, function = name.partition(":")
    scanner: ReleaseScanner = getattr(import_module(module), function) if module else scan_release
    return scanner


def rescan_archive(scanner: ReleaseScanner, data: bytes, name: str) -> Rescan:
    """Scans a stored archive, in a worker."""
    contents = unpack(data)
    result = scanner(contents, name=name)
    return Rescan(result.verdict, findings_from(result.problems), skill_traits(contents))


async def record_rescan(store: RegistryStore, package: Package, release: Release, result: Rescan, *, at: Millis) -> None:
    """Writes the result, and quarantines a release that it blocks."""
    subject = f"{package.kind}:{package.name}"
    event = AuditEvent(at, "registry", "scan", subject, f"{release.version} {result.verdict}")
    await store.set_scan(release.id, verdict=result.verdict, findings=result.findings_json, event=event)
    if result.verdict is ScanStatus.BLOCK and release.state != ReleaseState.QUARANTINED:
        rules = ", ".join(sorted({finding.rule for finding in result.findings})) or "its rules"
        reason = f"the scan blocks it ({rules})"
        held = AuditEvent(at, "registry", "quarantine-version", subject, f"{release.version} {release.digest} {reason}")
        await store.set_state(release, ReleaseState.QUARANTINED, reason=reason, event=held)
