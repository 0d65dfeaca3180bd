"""An upload to a release: judged whole, its bytes stored, then all its rows in one transaction.

Bytes come first. A worker that dies between the two leaves bytes that no row names, which the next collection takes away;
the other order would leave a release without bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from metier.errors import InvalidSkillError, UsageError
from metier.registry.wire import ReleaseFinding
from metier.spec import Problem, Report, Severity, is_name
from metier.values import dataclass, replace

from .access import Caller
from .admission import Admission, ReleaseScanner, admit
from .protocols import BlobStore, RegistryStore
from .records import Millis, Package, PackageKind, PackageVisibility, Release, ReleaseDraft
from .search_terms import is_one_slip

__all__ = ["RESERVED", "PublishOutcome", "PublishRequest", "Publisher", "findings_of"]

RESERVED = frozenset("""
    account admin agents anonymous api audit docs favicon-ico healthz index login logout metier metrics namespaces new openapi
    owner owners publish readyz registry reports robots-txt search security settings skill skills static t tokens
    trending well-known
""".split())  # noqa: SIM905  # fmt: skip
"""No namespace is called like a page."""
_POPULAR = 100
_MOST_POPULAR = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """What a publisher wants of an upload."""

    kind: PackageKind = PackageKind.SKILL
    namespace: str = ""
    """Empty is the token's own."""
    visibility: PackageVisibility | None = None
    version: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    admitted: Admission
    package: Package | None
    release: Release | None
    created: bool


class Publisher:
    def __init__(
        self, store: RegistryStore, blobs: BlobStore, clock: Callable[[], Millis], scanner: ReleaseScanner | None
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._scanner = scanner
        # Unpacking may take 70 MB; a worker does one at a time and stays small.
        self._turn = asyncio.Semaphore(1)

    def namespace(self, caller: Caller, wanted: str) -> str:
        """The namespace that an upload goes to, if the caller may publish there. Asked before a byte is read."""
        acting = caller.acts_for
        chosen = wanted or (acting[0] if acting and caller.name not in acting else caller.name)
        caller.require(caller.may_publish(chosen), f"publish in {chosen!r}", scope=f"publish:{chosen}")
        if not is_name(chosen) or chosen in RESERVED - {"admin"}:
            raise UsageError(f"{chosen[:80]!r} is no namespace", hint="use a-z, 0-9 and single hyphens, and no name of a page")
        return chosen

    async def keep(self, name: str, data: bytes) -> None:
        """One file of a release that is uploaded piece by piece."""
        await self._blobs.put(name, data)

    async def kept(self, name: str) -> bytes:
        return await self._blobs.get(name)

    async def publish(self, caller: Caller, data: bytes, intent: PublishRequest, *, name: str = "") -> PublishOutcome:
        """`name` is what the publisher thinks it is called, if that was said."""
        namespace = self.namespace(caller, intent.namespace)
        async with self._turn:
            admitted = await asyncio.to_thread(admit, data, kind=intent.kind, scanner=self._scanner, version=intent.version)
        if name and admitted.name != name:
            raise UsageError(f"SKILL.md says {admitted.name!r}, and the request {name[:80]!r}", hint="call it the same in both")
        admitted = await self._compared(admitted)
        if intent.dry_run:
            return PublishOutcome(admitted, None, None, False)
        if admitted.is_refused:
            raise InvalidSkillError(
                f"{admitted.name} may not be published", report=_report(admitted.findings),
                hint="every finding has its file and line; see them without publishing with dry_run=1",
            )  # fmt: skip
        await self._blobs.put(admitted.archive_name, admitted.archive)
        package, release, created = await self._store.publish(self._draft(caller, namespace, admitted, intent), caller.acts_for)
        return PublishOutcome(admitted, package, release, created)

    async def _compared(self, admitted: Admission) -> Admission:
        """With a warning if a new name is easily taken for one that many people use."""
        if await self._store.find_package(admitted.kind, admitted.name) is not None:
            return admitted
        known = await self._store.popular(admitted.kind, at_least=_POPULAR, limit=_MOST_POPULAR)
        plain = admitted.name.replace("-", "")
        near = next((name for name in known if is_one_slip(plain, name.replace("-", ""))), None)
        if near is None:
            return admitted
        told = ReleaseFinding(
            rule="RG002",
            severity=Severity.WARNING,
            message=f"{admitted.name!r} is easily taken for {near!r}",
            file=admitted.file,
            hint="choose a name that nobody mistypes for another",
        )
        return replace(admitted, findings=(*admitted.findings, told))

    def _draft(self, caller: Caller, namespace: str, admitted: Admission, intent: PublishRequest) -> ReleaseDraft:
        return ReleaseDraft(
            kind=admitted.kind, name=admitted.name, namespace=namespace, visibility=intent.visibility, version=admitted.version,
            digest=admitted.digest, archive=admitted.archive_name, size=len(admitted.archive),
            description=admitted.description, author=admitted.author or namespace, license=admitted.license,
            tags=admitted.tags, details=admitted.details_json, verdict=admitted.verdict, findings=admitted.findings_json,
            words=admitted.words, spellings=admitted.spellings, publisher=caller.name, at=self._clock(),
        )  # fmt: skip


def findings_of(release: Release) -> list[ReleaseFinding]:
    return msgspec.json.decode(release.findings, type=list[ReleaseFinding])


def _report(findings: tuple[ReleaseFinding, ...]) -> Report:
    return Report.of(
        Problem(
            code=each.rule,
            severity=Severity(each.severity),
            message=each.message,
            file=each.file,
            line=each.line,
            hint=each.hint,
        )
        for each in findings
    )
