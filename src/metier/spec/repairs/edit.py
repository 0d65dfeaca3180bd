"""SKILL.md with another description or name, and every other byte as it was."""

from __future__ import annotations

from metier.errors import InvalidSkillError
from metier.spec.parse import parse
from metier.spec.render import folded_value
from metier.values import replace

from .frontmatter import SourceLine, split_file
from .rules import name_of_the_folder

__all__ = ["replace_description", "replace_name"]


def replace_description(data: bytes, description: str) -> bytes:
    """Returns the file with this description. Raises InvalidSkillError if the result cannot be proven correct."""
    before = parse(data)
    try:
        file = split_file(data.decode("utf-8"), None)
    except UnicodeDecodeError:
        file = None
    root = file.frontmatter.root if file else None
    if file is None or root is None or before.manifest is None:
        raise InvalidSkillError("the frontmatter cannot be read, so it cannot be changed", report=before.report)
    lines = list(file.frontmatter.lines)
    starts = sorted(key.line for key, _ in root.entries)
    first = next(key.line for key, _ in root.entries if key.text == "description")
    last = next((start for start in starts if start > first), len(lines))
    # Comments and blank lines before the next key belong to that key.
    while last - 1 > first and (not lines[last - 1].text.strip() or lines[last - 1].text.startswith("#")):
        last -= 1
    end, number = lines[first].end, lines[first].number
    lines[first:last] = [SourceLine(text, end, number) for text in folded_value("description", description)]
    changed = file.with_lines(lines)
    # The result is parsed again, and must say what the file said before, apart from the description.
    after = parse(changed).manifest
    if (
        after is None
        or after.description != description
        or replace(after, description=before.manifest.description) != before.manifest
    ):
        raise InvalidSkillError(
            "the description is written in a way that cannot be changed safely",
            report=before.report,
            hint="put the description on lines of its own",
        )
    return changed


def replace_name(data: bytes, name: str) -> bytes:
    """Returns the file with this name, or unchanged where it has no frontmatter or has the name already."""
    try:
        file = split_file(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError:
        return data
    edits = list(name_of_the_folder(file.frontmatter)) if file else []
    return file.with_lines(file.frontmatter.edited(edits[:1]).lines) if file and edits else data
