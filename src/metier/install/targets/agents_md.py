"""The list of a project's skills in AGENTS.md, for agents that read that file and know no skills.

The list stands between two markers; the rest of the file is not touched. Writing an unchanged list changes nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress

from metier.disclosure import CatalogFormat, CatalogLine, render_block
from metier.errors import ConflictError
from metier.sources import file_lock, inner_file, read_regular, replace_bytes
from metier.values import dataclass

__all__ = ["BEGIN", "END", "AgentsMd", "with_skills", "write_agents_md"]

BEGIN = "<!-- metier:skills begin (written by `metier skill sync --agents-md`) -->"
END = "<!-- metier:skills end -->"
_BEGIN = re.compile(r"^<!-- metier:skills begin\b.*$", re.MULTILINE)
_END = re.compile(r"^<!-- metier:skills end -->$", re.MULTILINE)
_HOW = (
    "When a task matches one of these skills, read its SKILL.md before you start and follow it. "
    "Paths that it names are relative to its own folder."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsMd:
    """The result of writing AGENTS.md."""

    file: str
    skills: int
    changed: bool


def write_agents_md(folder: str, skills: Sequence[CatalogLine], *, lock_file: str, dry_run: bool = False) -> AgentsMd:
    """Updates the list in a project's AGENTS.md. `lock_file` keeps two processes apart."""
    file = os.path.join(folder, "AGENTS.md")
    with file_lock(lock_file):
        before = ""
        with inner_file(file, inside=folder) as (inner, name), suppress(FileNotFoundError):
            before = _decode(read_regular(name, dir_fd=inner), file)
        after = with_skills(before, sorted(skills), file=file)
        if after != before and not dry_run:
            replace_bytes(file, after.encode(), mode=0o644, inside=folder)
    return AgentsMd(file=file, skills=len(skills), changed=after != before)


def with_skills(text: str, skills: Sequence[CatalogLine], *, file: str = "AGENTS.md") -> str:
    """Returns the text with an updated list; without skills the list is removed."""
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    if len(begins) != len(ends) or len(begins) > 1 or (begins and begins[0].start() > ends[0].start()):
        raise ConflictError(f"the markers around the list of skills in {file} do not match", hint="delete them and try again")
    block = _block(skills) if skills else ""
    if begins:
        before, after = text[: begins[0].start()], text[ends[0].end() :]
        if block:
            return before + block + after
        return (before.rstrip("\n") + "\n" if before.strip() else "") + after.lstrip("\n")
    if not block:
        return text
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{block}\n"


def _decode(data: bytes, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConflictError(f"{file} is not UTF-8 text", hint="save the file as UTF-8; nothing was changed") from error


def _block(skills: Sequence[CatalogLine]) -> str:
    listing = render_block(skills, (), CatalogFormat.MARKDOWN)
    head, _, rest = listing.partition("\n\n")
    return f"{BEGIN}\n{head}\n\n{_HOW}\n\n{rest}\n{END}"
