"""The catalog as text in each format, and the sentences around it. Every value is escaped for its format.

The golden tests hold the sentences word for word; people tune prompts against them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache

from metier.errors import plural

from .escaping import escape_markdown, escape_output, escape_xml, one_line
from .tiers import CatalogFormat, PromptSkill

__all__ = [
    "ACTIVATION_SENTENCES", "ActivationMethod", "CatalogLine", "breadcrumb", "left_out_sentence", "render_block",
    "render_indented_xml", "render_reference_xml",
]  # fmt: skip

CatalogLine = tuple[str, str, str]
"""Name, description (whole, shortened or empty) and location (empty to leave it out)."""


class ActivationMethod(StrEnum):
    """The way in which the model starts a skill."""

    FILE = "file"
    """It reads the SKILL.md itself."""
    TOOL = "tool"
    """It calls a tool with the skill's name."""


ACTIVATION_SENTENCES = {
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
    """Returns the plural for one skill too, so that the text has one form."""
    return f"[{skills} skills available]"


def left_out_sentence(skills: int, activation: ActivationMethod) -> str:
    are = "is" if skills == 1 else "are"
    return f"{plural(skills, 'more skill')} {are} not listed here; {_SEARCH[activation]}."


def render_block(lines: Sequence[CatalogLine], names: Sequence[str], form: CatalogFormat) -> str:
    """Renders the described skills, then the skills that are only named. Returns "" for no skills."""
    if not lines and not names:
        return ""
    match form:
        case CatalogFormat.XML:
            return _render_xml(lines, names)
        case CatalogFormat.MARKDOWN:
            return _render_markdown(lines, names)
        case CatalogFormat.JSON:
            return _render_json(lines, names)


def _render_xml(lines: Sequence[CatalogLine], names: Sequence[str]) -> str:
    parts = ["<available_skills>"]
    parts += [_xml_line(line) for line in lines]
    if names:
        parts.append(f"<also_available>{', '.join(map(escape_xml, names))}</also_available>")
    return "\n".join([*parts, "</available_skills>"])


# A page is rendered several times until it fits, and again with every turn, mostly of the same lines.
@lru_cache(maxsize=2_000)
def _xml_line(line: CatalogLine) -> str:
    name, description, location = line
    parts = ["<skill>", f"<name>{escape_xml(name)}</name>"]
    parts += [f"<description>{escape_xml(description)}</description>"] if description else []
    parts += [f"<location>{escape_xml(location)}</location>"] if location else []
    return "\n".join([*parts, "</skill>"])


def _render_markdown(lines: Sequence[CatalogLine], names: Sequence[str]) -> str:
    parts = ["## Available skills", ""]
    for name, description, location in lines:
        where = f" ({escape_markdown(location)})" if location else ""
        parts.append(f"- **{escape_markdown(name)}**{where}: {escape_markdown(description)}".removesuffix(": "))
    if names:
        parts += ["", f"Also available: {', '.join(map(escape_markdown, names))}"]
    return "\n".join(parts)


def _render_json(lines: Sequence[CatalogLine], names: Sequence[str]) -> str:
    keys = ("name", "description", "location")
    document: dict[str, object] = {
        "available_skills": [
            {key: escape_output(one_line(value)) for key, value in zip(keys, line, strict=True) if value} for line in lines
        ]
    }
    if names:
        document["also_available"] = [escape_output(one_line(name)) for name in names]
    return json.dumps(document, ensure_ascii=False)


def render_reference_xml(skills: Iterable[PromptSkill]) -> str:
    """Renders the same bytes as skills-ref, except that the location is escaped too."""
    parts = ["<available_skills>"]
    for skill in skills:
        parts.append("<skill>")
        for tag, value in (("name", skill.name), ("description", skill.description), ("location", skill.location)):
            parts += [f"<{tag}>", escape_xml(value), f"</{tag}>"]
        parts.append("</skill>")
    return "\n".join([*parts, "</available_skills>"])


def render_indented_xml(lines: Sequence[CatalogLine]) -> str:
    parts = ["<available_skills>"]
    for name, description, location in lines:
        parts += [
            "  <skill>",
            f"    <name>{escape_xml(name)}</name>",
            f"    <description>{escape_xml(description)}</description>",
            f"    <location>{escape_xml(location)}</location>",
            "  </skill>",
        ]
    return "\n".join([*parts, "</available_skills>"])
