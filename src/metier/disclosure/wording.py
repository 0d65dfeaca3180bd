"""Every sentence we say to a model. Change one here and it changes everywhere; the golden tests hold them word for word."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ACTIVATE", "ActivationMethod", "breadcrumb", "left_out"]


class ActivationMethod(StrEnum):
    """How the model starts a skill."""

    FILE = "file"
    """It reads the SKILL.md itself."""
    TOOL = "tool"
    """It calls a tool with the skill's name."""


ACTIVATE = {
    ActivationMethod.FILE: """\
When a task matches one of these skills, read the SKILL.md file at its location before you start, and follow it.
Relative paths in a skill are relative to the folder of its SKILL.md; use absolute paths when you call tools.""",
    ActivationMethod.TOOL: """\
When a task matches one of these skills, call load_skill with its name before you start, and follow what it returns.
Read a skill's other files with read_skill_resource; paths are relative to the skill's folder.""",
}
_SEARCH = {
    ActivationMethod.FILE: "run `metier skill select REQUEST` to search them",
    ActivationMethod.TOOL: "call search_skills to search them",
}


def breadcrumb(skills: int) -> str:
    """Worded the same for one."""
    return f"[{skills} skills available]"


def left_out(skills: int, how: ActivationMethod) -> str:
    return f"{skills:,} more skills are not listed here; {_SEARCH[how]}."
