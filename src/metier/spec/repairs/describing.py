"""A SKILL.md with another description, and every other byte as it was."""

from __future__ import annotations

from metier.errors import InvalidSkillError
from metier.spec.parse import parse
from metier.spec.render import folded_value
from metier.values import replace

from .head import SourceLine, split_file

__all__ = ["replace_description"]


def replace_description(data: bytes, description: str) -> bytes:
    """The file with this description. InvalidSkillError where it has no frontmatter in which that could be proven."""
    before = parse(data)
    try:
        file = split_file(data.decode("utf-8"), None)
    except UnicodeDecodeError:
        file = None
    root = file.head.root if file else None
    if file is None or root is None or before.manifest is None:
        raise InvalidSkillError("the frontmatter cannot be read, so it cannot be changed", report=before.report)
    lines = list(file.head.lines)
    starts = sorted(key.line for key, _ in root.entries)
    first = next(key.line for key, _ in root.entries if key.text == "description")
    last = next((start for start in starts if start > first), len(lines))
    # Comments and blank lines before the next key are that key's.
    while last - 1 > first and (not lines[last - 1].text.strip() or lines[last - 1].text.startswith("#")):
        last -= 1
    end, number = lines[first].end, lines[first].number
    lines[first:last] = [SourceLine(text, end, number) for text in folded_value("description", description)]
    changed = (file.opening + "".join(line.text + line.end for line in lines) + file.closing + file.body).encode()
    # No edit is trusted: the file is read again, and must say what it said before, apart from this.
    after = parse(changed).manifest
    if (
        after is None
        or after.description != description
        or replace(after, description=before.manifest.description) != before.manifest
    ):
        raise InvalidSkillError("its description is written in a way that cannot be changed safely", report=before.report,
                           hint="put the description on lines of its own")  # fmt: skip
    return changed
