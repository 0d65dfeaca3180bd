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
from metier.errors import UnavailableError, plural
from metier.scan import ScanReport, scan
from metier.sources import DiskFiles
from metier.spec import Files
from metier.values import dataclass

from .fetch.job import Access, Choose, Progress, choose_default, ignore_progress
from .refs.ref_types import Ref, publisher_of

__all__ = ["ScannedSkill", "scan_folder", "scan_folders", "scan_packed", "scan_ref"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedSkill:
    name: str
    where: str
    """Its folder, or the ref and the path inside it."""
    files: Files
    report: ScanReport
    publisher: str = ""
    """The owner of the repository, or the host of another address; empty for a folder. Advisories name it."""


def scan_folder(folder: str) -> ScannedSkill:
    """Scans the skill in a folder."""
    return _scan(os.path.basename(folder), folder, DiskFiles(folder))


def scan_folders(
    folders: Sequence[str],
    *,
    on: BulkMap,
    journal: ResultJournal | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> list[ScannedSkill]:  # fmt: skip
    """Scans many skills in processes of this machine or on a cluster. UnavailableError names those that failed."""
    disk = [DiskFiles(folder) for folder in folders]
    names = [os.path.basename(folder) for folder in folders]
    # Packed: a worker on another machine does not see this disk.
    items = [(name, pack(files, to=ArchiveFormat.ZIP)) for name, files in zip(names, disk, strict=True)]
    found: list[ScannedSkill] = []
    failed: list[str] = []
    reports = map_items(scan_packed, items, on=on, journal=journal, advance=advance)
    for folder, name, files, report in zip(folders, names, disk, reports, strict=True):
        if isinstance(report, ItemFailure):
            failed.append(f"{name}: {report.reason}")
        else:
            found.append(ScannedSkill(name=name, where=folder, files=files, report=report))
    if failed:
        raise UnavailableError(
            f"{plural(len(failed), 'skill')} could not be scanned: {'; '.join(failed[:5])}",
            hint="scan them alone; with --journal the others are not scanned again",
        )
    return found


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
