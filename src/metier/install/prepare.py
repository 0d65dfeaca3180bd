"""A fetched skill to what would be written and locked: checked, named, and nothing on disk yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from metier.archive import Contents, file_hashes, read_contents
from metier.errors import InvalidSkillError, RefusedError, suggested_name
from metier.spec import SKILL_FILE, Files, ParseResult, Report, SkillName, Verdict, check, is_name, load
from metier.values import dataclass, field, replace

from .fetch.results import FetchedSkill
from .lock.lock_file import LockEntry
from .protocols import Scan

if TYPE_CHECKING:
    from metier.scan import ScanReport

__all__ = ["PreparedSkill", "prepare", "refuse_blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSkill:
    entry: LockEntry
    """As the lock will have it, but for where it goes and when."""
    files: Files
    parsed: ParseResult | None = field(default=None, compare=False, repr=False)
    """The parse of its SKILL.md under the strict verdict, where it still holds for these files."""
    judged: Callable[[], ScanReport | None] = field(default=lambda: None, compare=False, repr=False)
    """Called where the verdict decides: it may still be on its way."""

    @property
    def scanned(self) -> ScanReport | None:
        """None where nobody looked, or where there is nothing new to say."""
        return self.judged()

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def is_blocked(self) -> bool:
        return self.scanned is not None and self.scanned.verdict == "block"

    @property
    def is_doubtful(self) -> bool:
        """Should a person read what the scan found?"""
        return self.scanned is not None and self.scanned.verdict != "pass"

    @property
    def worst(self) -> str:
        """The gravest finding in one line, and how many more there are."""
        grave = [one for one in self.scanned.findings if one.verdict != "pass"] if self.scanned else []
        if not grave:
            return ""
        more = f" and {len(grave) - 1} more" if len(grave) > 1 else ""
        return f"{grave[0].message} ({grave[0].problem.where}, {grave[0].code}){more}"

    @property
    def report(self) -> Report:
        """Its problems under the strict verdict; it is installed all the same."""
        if self.parsed and self.parsed.manifest and self.parsed.manifest.name == self.name:
            # The folder that it was fetched from may have had another name; the folder here has the skill's name.
            return Report(tuple(one for one in self.parsed.report if one.code != "SK105"))
        return check(self.files, folder=self.name, verdict=Verdict.STRICT)


def prepare(skill: FetchedSkill, *, name: str | None = None, asked: str = "", scan: Scan | None = None) -> PreparedSkill:
    """InvalidSkillError where no model could use it. `name` is another one to have it under."""
    manifest = load(skill.files, folder=_called(skill), parsed=skill.parsed).manifest
    chosen = SkillName(name).text if name else _called(skill)
    files = _renamed(skill.files, chosen) if name and name != skill.name else skill.files
    entry = LockEntry(
        name=chosen,
        origin=skill.origin,
        digest=skill.digest,
        files=file_hashes(files),
        asked=asked,
        called=skill.name if skill.name != chosen else "",
        version=skill.origin.version or manifest.extensions.version or "",
        dependencies=manifest.extensions.dependencies,
    )
    report = scan(files, folder=chosen) if scan else None
    parsed = skill.parsed if files is skill.files else None
    return PreparedSkill(entry=entry, files=files, parsed=parsed, judged=lambda: report)


def refuse_blocked(skills: Iterable[PreparedSkill]) -> None:
    """Refused for the first skill that the scan blocks, where there is nobody to ask."""
    for skill in skills:
        if skill.is_blocked:
            raise RefusedError(f"{skill.name} is blocked: {skill.worst}", rule="scan",
                          hint="read it with `metier skill scan REF`; --unsafe installs it all the same")  # fmt: skip


def _called(skill: FetchedSkill) -> str:
    """A folder's name for the skill: its own where that is one, else the nearest."""
    base = skill.origin.path.rpartition("/")[2] or os.path.basename(skill.origin.url.rstrip("/"))
    for name in (skill.name, suggested_name(skill.name), suggested_name(base)):
        if is_name(name):
            return name
    raise InvalidSkillError(f"{skill.name!r} cannot be a folder's name", report=Report(), hint="give it one with --name")


def _renamed(files: Files, name: str) -> Files:
    """The same skill, whose SKILL.md says the name it has here, for agents that go by the file and not by the folder."""
    # Imported here: few skills are renamed, and the repairs import PyYAML.
    from metier.spec import replace_name

    contents = files if isinstance(files, Contents) else read_contents(files)
    members = [
        replace(member, data=replace_name(member.data, name)) if member.path == SKILL_FILE else member
        for member in contents.members
    ]
    return Contents(members, contents.links)
