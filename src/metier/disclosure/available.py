"""The catalog as a model reads it: `<available_skills>`.

The layout, each tag and value on its own line, is the reference library's, so that prompts can be compared. Every value is
escaped, the location too: a description cannot close its tag and speak as the system.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Protocol
from unicodedata import category

__all__ = ["Listed", "available_skills", "skills_section"]

_FILE_READ = """\
When a task matches one of these skills, read the SKILL.md file at its location before you start, and follow it.
Relative paths in a skill are relative to the folder of its SKILL.md; use absolute paths when you call tools."""


class Listed(Protocol):
    """What the catalog shows of a skill."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def location(self) -> str: ...


def available_skills(skills: Iterable[Listed]) -> str:
    """The block alone. Nothing at all when there is nothing to list."""
    entries = [
        f"<skill>\n<name>\n{_safe(skill.name)}\n</name>\n<description>\n{_safe(skill.description)}\n</description>\n"
        f"<location>\n{_safe(skill.location)}\n</location>\n</skill>"
        for skill in skills
    ]
    return "\n".join(["<available_skills>", *entries, "</available_skills>"]) if entries else ""


def skills_section(skills: Iterable[Listed]) -> str:
    """The block, and how to use what it lists, for a model that reads files itself."""
    block = available_skills(skills)
    return f"{_FILE_READ}\n\n{block}" if block else ""


def _safe(text: str) -> str:
    return escape(text if text.isprintable() else "".join(map(_visible, text)), quote=True)


def _visible(char: str) -> str:
    # Spaces of other scripts (French, Chinese) are not "printable" to Python, and are what their authors meant.
    return char if char.isprintable() or char in "\n\t" or category(char) == "Zs" else "\ufffd"
