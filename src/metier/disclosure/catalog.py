"""The catalog in each format and layout. Every value is escaped for where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from .ladder import Format, Listed
from .neutral import for_markdown, for_xml, one_line

__all__ = ["Line", "indented_xml", "reference_xml", "rendered"]

Line = tuple[str, str, str]
"""Name, description (whole, shortened or empty) and location (empty to leave it out)."""


def rendered(lines: Sequence[Line], also: Sequence[str], form: Format) -> str:
    """The catalog block: what is described, then what is only named. Empty when both are."""
    if not lines and not also:
        return ""
    render: Callable[[Sequence[Line], Sequence[str]], str] = {Format.XML: _xml, Format.MARKDOWN: _markdown, Format.JSON: _json}[
        form
    ]
    return render(lines, also)


def _xml(lines: Sequence[Line], also: Sequence[str]) -> str:
    parts = ["<available_skills>"]
    for name, description, location in lines:
        parts += ["<skill>", f"<name>{for_xml(name)}</name>"]
        parts += [f"<description>{for_xml(description)}</description>"] if description else []
        parts += [f"<location>{for_xml(location)}</location>"] if location else []
        parts.append("</skill>")
    if also:
        parts.append(f"<also_available>{', '.join(map(for_xml, also))}</also_available>")
    return "\n".join([*parts, "</available_skills>"])


def _markdown(lines: Sequence[Line], also: Sequence[str]) -> str:
    parts = ["## Available skills", ""]
    for name, description, location in lines:
        where = f" ({for_markdown(location)})" if location else ""
        parts.append(f"- **{for_markdown(name)}**{where}: {for_markdown(description)}".removesuffix(": "))
    if also:
        parts += ["", f"Also available: {', '.join(map(for_markdown, also))}"]
    return "\n".join(parts)


def _json(lines: Sequence[Line], also: Sequence[str]) -> str:
    keys = ("name", "description", "location")
    document: dict[str, object] = {
        "available_skills": [{key: one_line(value) for key, value in zip(keys, line, strict=True) if value} for line in lines]
    }
    if also:
        document["also_available"] = [one_line(name) for name in also]
    return json.dumps(document, ensure_ascii=False)


def reference_xml(skills: Iterable[Listed]) -> str:
    """As skills-ref prints it, byte for byte, each tag and value on its own line. Unlike there, the location is escaped too."""
    parts = ["<available_skills>"]
    for skill in skills:
        parts.append("<skill>")
        for tag, value in (("name", skill.name), ("description", skill.description), ("location", skill.location)):
            parts += [f"<{tag}>", for_xml(value), f"</{tag}>"]
        parts.append("</skill>")
    return "\n".join([*parts, "</available_skills>"])


def indented_xml(lines: Sequence[Line]) -> str:
    """Indented, for a section of a prompt."""
    parts = ["<available_skills>"]
    for name, description, location in lines:
        parts += [
            "  <skill>",
            f"    <name>{for_xml(name)}</name>",
            f"    <description>{for_xml(description)}</description>",
            f"    <location>{for_xml(location)}</location>",
            "  </skill>",
        ]
    return "\n".join([*parts, "</available_skills>"])
