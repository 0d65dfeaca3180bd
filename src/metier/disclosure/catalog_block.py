"""The catalog in each format and layout. Every value is escaped for where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from .escaping import escape_markdown, escape_xml, one_line
from .tiers import CatalogFormat, PromptSkill

__all__ = ["CatalogLine", "render_block", "render_indented_xml", "render_reference_xml"]

CatalogLine = tuple[str, str, str]
"""Name, description (whole, shortened or empty) and location (empty to leave it out)."""


def render_block(lines: Sequence[CatalogLine], also: Sequence[str], form: CatalogFormat) -> str:
    """The catalog block: what is described, then what is only named. Empty when both are."""
    if not lines and not also:
        return ""
    render: Callable[[Sequence[CatalogLine], Sequence[str]], str] = {
        CatalogFormat.XML: _xml,
        CatalogFormat.MARKDOWN: _markdown,
        CatalogFormat.JSON: _json,
    }[form]
    return render(lines, also)


def _xml(lines: Sequence[CatalogLine], also: Sequence[str]) -> str:
    parts = ["<available_skills>"]
    for name, description, location in lines:
        parts += ["<skill>", f"<name>{escape_xml(name)}</name>"]
        parts += [f"<description>{escape_xml(description)}</description>"] if description else []
        parts += [f"<location>{escape_xml(location)}</location>"] if location else []
        parts.append("</skill>")
    if also:
        parts.append(f"<also_available>{', '.join(map(escape_xml, also))}</also_available>")
    return "\n".join([*parts, "</available_skills>"])


def _markdown(lines: Sequence[CatalogLine], also: Sequence[str]) -> str:
    parts = ["## Available skills", ""]
    for name, description, location in lines:
        where = f" ({escape_markdown(location)})" if location else ""
        parts.append(f"- **{escape_markdown(name)}**{where}: {escape_markdown(description)}".removesuffix(": "))
    if also:
        parts += ["", f"Also available: {', '.join(map(escape_markdown, also))}"]
    return "\n".join(parts)


def _json(lines: Sequence[CatalogLine], also: Sequence[str]) -> str:
    keys = ("name", "description", "location")
    document: dict[str, object] = {
        "available_skills": [{key: one_line(value) for key, value in zip(keys, line, strict=True) if value} for line in lines]
    }
    if also:
        document["also_available"] = [one_line(name) for name in also]
    return json.dumps(document, ensure_ascii=False)


def render_reference_xml(skills: Iterable[PromptSkill]) -> str:
    """As skills-ref prints it, byte for byte, each tag and value on its own line. Unlike there, the location is escaped too."""
    parts = ["<available_skills>"]
    for skill in skills:
        parts.append("<skill>")
        for tag, value in (("name", skill.name), ("description", skill.description), ("location", skill.location)):
            parts += [f"<{tag}>", escape_xml(value), f"</{tag}>"]
        parts.append("</skill>")
    return "\n".join([*parts, "</available_skills>"])


def render_indented_xml(lines: Sequence[CatalogLine]) -> str:
    """Indented, for a section of a prompt."""
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
