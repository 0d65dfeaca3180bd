"""Checks, names and scans a fetched skill. The result is what will be written and locked; nothing is on disk yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from metier import __version__
from metier.archive import Contents, digest, file_hashes, read_contents
from metier.errors import InvalidSkillError, RefusedError, suggested_name
from metier.spec import (
    SKILL_FILE,
    Capabilities,
    Files,
    Manifest,
    ParseResult,
    Report,
    SkillName,
    Verdict,
    check,
    is_name,
    load,
)
from metier.values import dataclass, field, replace

from .lock.lock_file import LockEntry, publisher_of_origin
from .protocols import FetchedSkill, Scan

if TYPE_CHECKING:
    from metier.scan import Advisory, ScanReport

    from .fetch.cache import SkillCache
    from .merge import SkillMerge

__all__ = ["AdvisedScan", "PreparedSkill", "cached_scan", "prepare", "refuse_blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSkill:
    entry: LockEntry
    """The lock entry, without targets and date."""
    files: Files
    scanned: ScanReport | None = field(default=None, compare=False, repr=False)
    """None if the skill was not scanned."""
    parsed: ParseResult | None = field(default=None, compare=False, repr=False)
    """The strict parse of its SKILL.md, where it still holds for these files."""
    merge: SkillMerge | None = field(default=None, compare=False, repr=False)
    """Its files merged with the user's edits, which are written instead; the lock has the files of the source."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def files_to_write(self) -> Files:
        return self.merge.files if self.merge else self.files

    @property
    def is_blocked(self) -> bool:
        return self.scanned is not None and self.scanned.verdict == "block"

    @property
    def needs_review(self) -> bool:
        """Returns True if the scan blocks the skill or wants a person to read it."""
        return self.scanned is not None and self.scanned.verdict != "pass"

    @property
    def worst(self) -> str:
        """The gravest finding in one line, with the number of others."""
        grave = [one for one in self.scanned.findings if one.verdict != "pass"] if self.scanned else []
        if not grave:
            return ""
        more = f" and {len(grave) - 1} more" if len(grave) > 1 else ""
        return f"{grave[0].message} ({grave[0].problem.where}, {grave[0].code}){more}"

    @property
    def report(self) -> Report:
        """The strict verdict's problems. They do not prevent the installation."""
        if self.parsed and self.parsed.manifest and self.parsed.manifest.name == self.entry.base_name:
            # Its folder in the source may have another name; its folder here has the skill's name.
            return Report(tuple(one for one in self.parsed.report if one.code != "SK105"))
        return check(self.files, folder=self.entry.base_name, verdict=Verdict.STRICT)

    def wider_than(self, listed: Capabilities | None) -> Capabilities:
        """Returns what it wants beyond the list of its installed version; nothing if one of them was not scanned."""
        wanted = self.entry.capabilities
        return Capabilities() if listed is None or wanted is None else wanted.beyond(listed)

    def renamed(self, name: str) -> PreparedSkill:
        entry = self.entry
        fetched = FetchedSkill(name=entry.called or entry.name, files=self.files, digest=entry.digest, origin=entry.origin)
        renamed = prepare(fetched, name=name, asked=entry.asked)
        return replace(renamed, scanned=self.scanned, entry=replace(renamed.entry, capabilities=entry.capabilities))

    def as_extra(self) -> PreparedSkill:
        """Returns it under `NAME@VERSION`, to be installed beside another version. Its files do not change."""
        return replace(self, entry=replace(self.entry, name=f"{self.entry.base_name}@{self.entry.version}"))


def prepare(skill: FetchedSkill, *, name: str | None = None, asked: str = "", scan: Scan | None = None) -> PreparedSkill:
    """Raises InvalidSkillError if no model could use the skill. `name` installs it under another name."""
    own_name = _folder_name(skill)
    manifest = load(skill.files, folder=own_name, parsed=skill.parsed).manifest
    chosen = SkillName(name).text if name else own_name
    files = _rename(skill.files, chosen) if name and name != skill.name else skill.files
    version = skill.origin.version or manifest.extensions.version or ""
    scanned = scan(files, folder=chosen, manifest=manifest if files is skill.files else None) if scan else None
    if scanned is not None and isinstance(scan, AdvisedScan):
        scanned = scan.advise(scanned, skill, version)
    entry = LockEntry(
        name=chosen,
        origin=skill.origin,
        digest=skill.digest,
        files=file_hashes(files),
        asked=asked,
        called=skill.name if skill.name != chosen else "",
        version=version,
        dependencies=manifest.extensions.dependencies,
        capabilities=scanned.capabilities if scanned else None,
    )
    return PreparedSkill(
        entry=entry,
        files=files,
        scanned=scanned,
        parsed=skill.parsed if files is skill.files else None,
    )


def refuse_blocked(skills: Iterable[PreparedSkill]) -> None:
    """Raises RefusedError for the first skill that the scan blocks."""
    for skill in skills:
        if skill.is_blocked:
            raise RefusedError(f"{skill.name} is blocked: {skill.worst}", rule="scan",
                               hint="read the report of `metier skill scan REF`; --unsafe installs it anyway")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedScan:
    """A scan that also compares a skill, as its source has it, with what is known to be bad."""

    scan: Scan
    find_advisories: Callable[[], Sequence[Advisory]]

    def __call__(self, files: Files, *, folder: str, manifest: Manifest | None = None) -> ScanReport | None:
        return self.scan(files, folder=folder, manifest=manifest)

    def advise(self, report: ScanReport, skill: FetchedSkill, version: str) -> ScanReport:
        advisories = self.find_advisories()
        if not advisories:
            return report
        from metier.scan import apply_advisories

        return apply_advisories(
            report, advisories, files=skill.files, name=skill.name, publisher=publisher_of_origin(skill.origin),
            digest=skill.digest, version=version,
        )  # fmt: skip


def cached_scan(cache: SkillCache, scan: Scan | None = None) -> Scan:
    """Returns a scan that remembers content that passed, under this version of metier, and does not read it again."""

    def scan_once(files: Files, *, folder: str, manifest: Manifest | None = None) -> ScanReport | None:
        # The folder is part of the key: some rules compare it with the text of the skill.
        key = f"scan {__version__} {folder} {digest(files)}"
        known = cache.recall(key) or {}
        if known.get("verdict") == "pass" and isinstance(known.get("capabilities"), dict):
            # Imported here: without the rules, which take longer to load than most skills to read.
            from metier.scan import ScanReport

            return ScanReport(capabilities=Capabilities.of(known["capabilities"]))
        if scan is None:
            from metier.scan import scan as scan_files

            report: ScanReport | None = scan_files(files, folder=folder, manifest=manifest)
        else:
            report = scan(files, folder=folder, manifest=manifest)
        if report is not None and report.verdict == "pass":
            cache.remember(key, {"verdict": "pass", "capabilities": report.capabilities.row()})
        return report

    return scan_once


def _folder_name(skill: FetchedSkill) -> str:
    """Returns the skill's own name if that is valid, else the nearest valid one."""
    for name in (skill.name, suggested_name(skill.name), suggested_name(skill.origin.folder_name)):
        if is_name(name):
            return name
    raise InvalidSkillError(f"{skill.name!r} cannot be a folder's name", report=Report(), hint="choose one with --name NAME")


def _rename(files: Files, name: str) -> Files:
    """Returns the skill with the new name in its SKILL.md, for agents that go by the file and not by the folder."""
    # Imported here: few skills are renamed, and the repairs import PyYAML.
    from metier.spec import replace_name

    contents = files if isinstance(files, Contents) else read_contents(files)
    members = [
        replace(member, data=replace_name(member.data, name)) if member.path == SKILL_FILE else member
        for member in contents.members
    ]
    return Contents(members, contents.links)
