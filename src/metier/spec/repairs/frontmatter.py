"""SKILL.md split without losing a byte, and its frontmatter as lines with their YAML nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import yaml

from metier.spec.codes import Verdict
from metier.spec.document import split_document
from metier.spec.parse import ParseResult, parse
from metier.spec.yaml import MapNode, Node, read_yaml
from metier.values import dataclass

__all__ = ["AppliedFix", "Edit", "Frontmatter", "NodeText", "Place", "SourceLine", "SplitFile", "split_file"]

_OPENING = re.compile(r"---([ \t]*)(\r\n|\r|\n)")
_CLOSING = re.compile(r"(\r\n|\r|\n)---([ \t]*)(?=[\r\n]|\Z)")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n)")
# YAML 1.1 parsers treat these as line ends and editors do not, so no position in such a frontmatter is reliable.
_OTHER_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

Place = tuple[int, int]
"""Line of the frontmatter and column, both from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedFix:
    """A repair that was made."""

    code: str
    line: int
    """The line in the original file."""
    message: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    text: str
    end: str
    number: int
    """The line number in the original file."""


class NodeText(NamedTuple):
    """A node as its author wrote it, with quotes."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replaces the source from `start` to `end` with `text`, which gives the field at `path` the value `value`."""

    start: Place
    end: Place
    text: str
    code: str
    message: str
    path: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class Frontmatter:
    lines: tuple[SourceLine, ...]
    folder: str | None = None
    changes: tuple[AppliedFix, ...] = ()

    @cached_property
    def text(self) -> str:
        return "".join(line.text + "\n" for line in self.lines)

    @cached_property
    def root(self) -> MapNode | None:
        """The tree, with lines from 0 and columns from 1; None if this is not a YAML map."""
        root = read_yaml(self.text, first_line=0).root
        return root if isinstance(root, MapNode) else None

    @cached_property
    def parsed(self) -> ParseResult:
        return parse(f"---\n{self.text}---\n".encode(), folder=self.folder, verdict=Verdict.STRICT)

    def written(self, node: Node) -> NodeText | None:
        """Returns the source of a scalar or a flow collection; None for a node without text of its own."""
        start = (node.line, node.column - 1)
        end = self._ends.get(start)
        if end is None or end[0] >= len(self.lines):
            return None
        texts = [line.text for line in self.lines[start[0] : end[0] + 1]]
        texts[-1] = texts[-1][: end[1]]
        texts[0] = texts[0][start[1] :]
        return NodeText(start, end, "\n".join(texts))

    def edited(self, edits: Sequence[Edit]) -> Frontmatter:
        lines = list(self.lines)
        # From the end, so that the positions of earlier edits stay valid.
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            (first, left), (last, right) = edit.start, edit.end
            texts = (lines[first].text[:left] + edit.text + lines[last].text[right:]).split("\n")
            lines[first : last + 1] = [SourceLine(text, lines[last].end, lines[first].number) for text in texts]
        changes = (AppliedFix(code=edit.code, line=self.lines[edit.start[0]].number, message=edit.message) for edit in edits)
        return Frontmatter(tuple(lines), self.folder, (*self.changes, *changes))

    @cached_property
    def _ends(self) -> dict[Place, Place]:
        ends: dict[Place, Place] = {}
        stack: list[Place] = []
        for event in yaml.parse(self.text, Loader=_LOADER):
            start, end = _place(event.start_mark), _place(event.end_mark)
            if isinstance(event, yaml.ScalarEvent) and start != end:
                ends[start] = end
            elif isinstance(event, yaml.CollectionStartEvent):
                stack.append(start)
            elif isinstance(event, yaml.CollectionEndEvent):
                opened = stack.pop()
                # A block collection starts at its first key and ends where the next node starts, so it has no text of its own.
                if self.lines[opened[0]].text.startswith(("[", "{"), opened[1]):
                    ends[opened] = end
        return ends


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFile:
    opening: str
    frontmatter: Frontmatter
    closing: str
    body: str
    """Starts with the line end of the closing delimiter."""
    changes: tuple[AppliedFix, ...]

    def with_lines(self, lines: Iterable[SourceLine]) -> bytes:
        """Returns the whole file with these lines as its frontmatter."""
        return (self.opening + "".join(line.text + line.end for line in lines) + self.closing + self.body).encode()


def split_file(text: str, folder: str | None) -> SplitFile | None:
    """Splits a file into its parts, with clean delimiters. Returns None if it has no recognizable frontmatter."""
    rest = text.lstrip(" \t\r\n")
    blank = text[: len(text) - len(rest)]
    opening = _OPENING.match(rest)
    if not opening or not split_document(rest.encode()).has_frontmatter or (blank and not _is_blank_lines(blank, rest, folder)):
        return None
    closing = _CLOSING.search(rest, opening.start(2))
    frontmatter = rest[opening.end() : max(closing.end(1), opening.end())] if closing else ""
    if not closing or _OTHER_LINE_ENDS.search(frontmatter):
        return None
    first = len(_LINE.findall(blank)) + 1
    lines = tuple(SourceLine(match[1], match[2], first + at) for at, match in enumerate(_LINE.finditer(frontmatter), start=1))
    found = (
        (blank, "SK005", 1, "removed the blank lines before the opening `---`"),
        (opening[1], "SK005", first, "removed the spaces after the opening `---`"),
        (closing[2], "SK006", first + len(lines) + 1, "removed the spaces after the closing `---`"),
    )
    return SplitFile(
        opening="---" + opening[2],
        frontmatter=Frontmatter(lines, folder),
        closing="---",
        body=rest[closing.end() :],
        changes=tuple(AppliedFix(code=code, line=line, message=message) for wrong, code, line, message in found if wrong),
    )


def _is_blank_lines(blank: str, rest: str, folder: str | None) -> bool:
    # A `---` further down may be a horizontal rule on a page without frontmatter, so the result must be a skill.
    return blank.endswith(("\r", "\n")) and parse(rest.encode(), folder=folder).manifest is not None


def _place(mark: yaml.Mark) -> Place:
    return mark.line, mark.column
