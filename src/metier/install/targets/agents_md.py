"""A list of the project's skills in AGENTS.md, for agents that know no skills and read that file. Pure.

The list stands between two marks and everything else in the file is its owner's. Writing it again changes nothing unless the
skills changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metier.disclosure import CatalogFormat, CatalogLine, render_block
from metier.errors import ConflictError

__all__ = ["BEGIN", "END", "with_skills"]

BEGIN = "<!-- metier:skills begin (written by `metier skill sync --agents-md`) -->"
END = "<!-- metier:skills end -->"
_BEGIN = re.compile(r"^<!-- metier:skills begin\b.*$", re.MULTILINE)
_END = re.compile(r"^<!-- metier:skills end -->$", re.MULTILINE)
_HOW = (
    "When a task matches one of these skills, read its SKILL.md before you start and follow it. "
    "Paths that it names are relative to its own folder."
)


def with_skills(text: str, skills: Sequence[CatalogLine], *, file: str = "AGENTS.md") -> str:
    """The file with its list brought up to date; without skills the list goes, and nothing else."""
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    if len(begins) != len(ends) or len(begins) > 1 or (begins and begins[0].start() > ends[0].start()):
        raise ConflictError(f"the marks around the list of skills in {file} do not match", hint="delete them, then try again")
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


def _block(skills: Sequence[CatalogLine]) -> str:
    listing = render_block(skills, (), CatalogFormat.MARKDOWN)
    head, _, rest = listing.partition("\n\n")
    return f"{BEGIN}\n{head}\n\n{_HOW}\n\n{rest}\n{END}"
