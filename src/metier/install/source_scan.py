"""Scans skills where they are: a folder on this disk, or a ref that is fetched into memory.

    for skill in scan_ref(parse_ref("owner/repo"), Access()):
        print(skill.name, skill.report.verdict)

Nothing is installed, and nothing but the cache is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from metier.archive import ArchiveFormat, pack, unpack
from metier.bulk import BulkMap, ItemFailure, ResultJournal, map_items
from metier.errors import NotFoundError, RefusedError
from metier.scan import ScanReport, scan
from metier.sources import DiskFiles
from metier.spec import Files
from metier.values import dataclass

from .fetch.job import Access, Choose, Progress, choose_default, ignore_progress
from .refs.ref_types import Ref, publisher_of

__all__ = ["ScannedSkill", "UnscannedSkill", "scan_folder", "scan_folders", "scan_packed", "scan_ref"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedSkill:
    name: str
    where: str
    """Its folder, or the ref and the path inside it."""
    files: Files
    report: ScanReport
    publisher: str = ""
    """The owner of the repository, or the host of another address; empty for a folder. Advisories name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnscannedSkill:
    """A skill whose scan failed."""

    name: str
    where: str
    reason: str


def scan_folder(folder: str) -> ScannedSkill:
    """Scans the skill in a folder."""
    return _scan(os.path.basename(folder), folder, DiskFiles(folder))


def scan_folders(
    folders: Sequence[str],
    *,
    on: BulkMap | None = None,
    journal: ResultJournal | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[list[ScannedSkill], list[UnscannedSkill]]:  # fmt: skip
    """Scans many skills, in this process or through `on`. Returns them and those that could not be scanned."""
    # Packed: a worker on another machine does not see this disk.
    packed = {folder: archive for folder in folders if (archive := _packed(folder))} if on is not None else {}
    found: dict[str, ScannedSkill] = {}
    failed: list[UnscannedSkill] = []
    for folder in folders:
        if folder not in packed:
            found[folder] = scan_folder(folder)
            advance(1)
    if on is not None:
        items = [(os.path.basename(folder), archive) for folder, archive in packed.items()]
        reports = map_items(scan_packed, items, on=on, journal=journal, advance=advance)
        for folder, (name, _), report in zip(packed, items, reports, strict=True):
            if isinstance(report, ItemFailure):
                failed.append(UnscannedSkill(name=name, where=folder, reason=report.reason))
            else:
                found[folder] = ScannedSkill(name=name, where=folder, files=DiskFiles(folder), report=report)
    return [found[folder] for folder in folders if folder in found], failed


def scan_packed(item: tuple[str, bytes]) -> ScanReport:
    """Scans the skill in an archive, in a worker."""
    name, data = item
    return scan(unpack(data), folder=name)


def scan_ref(
    ref: Ref, access: Access, *, choose: Choose = choose_default, progress: Progress = ignore_progress
) -> tuple[ScannedSkill, ...]:
    """Fetches the skills of a ref and scans each."""
    # Imported here: fetching needs git and HTTP, and a folder needs neither.
    from .fetch.dispatch import fetch_ref

    fetched = fetch_ref(ref, access, choose=choose, progress=progress)
    publisher = publisher_of(ref)
    return tuple(_scan(one.name, f"{ref.text}:{one.origin.path or one.name}", one.files, publisher) for one in fetched.skills)


def _scan(name: str, where: str, files: Files, publisher: str = "") -> ScannedSkill:
    return ScannedSkill(name=name, where=where, files=files, report=scan(files, folder=name), publisher=publisher)


def _packed(folder: str) -> bytes | None:
    """Returns the skill as an archive; None if it has files that no archive holds, such as `con` or one that cannot be read."""
    try:
        return pack(DiskFiles(folder), to=ArchiveFormat.ZIP)
    except (RefusedError, NotFoundError):
        return None
