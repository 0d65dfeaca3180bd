"""Splits SKILL.md into frontmatter and body.

A delimiter is a whole line, so `description: a --- b` is none. A byte order mark, CRLF or CR line ends, spaces after `---` and
a missing final newline are accepted, because real files have them and their authors cannot see them.
"""

from __future__ import annotations

import re

from metier.values import dataclass

from .codes import problem
from .report import Problem

__all__ = ["BOM", "MAX_FRONTMATTER_BYTES", "Document", "split_document"]

BOM = b"\xef\xbb\xbf"
MAX_FRONTMATTER_BYTES = 64 * 1024
_OPENING = re.compile(r"---[ \t]*(?:\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One SKILL.md as text with `\\n` line ends. `frontmatter` starts on line 2 of the file."""

    frontmatter: str = ""
    body: str = ""
    body_line: int = 1
    problems: tuple[Problem, ...] = ()
    """Problems that prevented splitting, and problems with the bytes."""
    has_frontmatter: bool = True

    @property
    def lines(self) -> int:
        return self.body_line - 1 + self.body.count("\n") + (not self.body.endswith("\n"))

    def line_of(self, key: str) -> int:
        """Returns the number of the line in the file where a key of the frontmatter stands; 1 if it has none."""
        found = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*:", self.frontmatter, re.MULTILINE)
        return self.frontmatter.count("\n", 0, found.start()) + 2 if found else 1


def split_document(data: bytes) -> Document:
    """Splits the file; never raises. Without a usable frontmatter, `problems` says why and the whole text is body."""
    found: list[Problem] = []
    if data.startswith(BOM):
        data = data[len(BOM) :]
        found.append(problem("SK014", "starts with a byte order mark", hint="`metier skill fix` removes it", line=1, column=1))
    text = _decode(data, found)
    if text is None:
        return Document(problems=tuple(found), has_frontmatter=False)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    opening = _OPENING.match(text)
    if not opening:
        found.append(_no_frontmatter(text))
        return Document(body=text, problems=tuple(found), has_frontmatter=False)
    closing = _CLOSING.search(text, opening.end())
    if not closing:
        found.append(problem("SK006", "the frontmatter that opens on line 1 is never closed", line=1, column=1,
                             hint="add a line `---` after the last key"))  # fmt: skip
        return Document(body=text, problems=tuple(found), has_frontmatter=False)
    frontmatter = text[opening.end() : closing.start()]
    body_at = min(closing.end() + 1, len(text))
    if len(frontmatter.encode()) > MAX_FRONTMATTER_BYTES:
        found.append(problem("SK007", f"the frontmatter is larger than {MAX_FRONTMATTER_BYTES // 1024} KiB", line=1, column=1,
                             hint="move the detail into the body"))  # fmt: skip
        return Document(body=text[body_at:], problems=tuple(found), has_frontmatter=False)
    return Document(
        frontmatter=frontmatter, body=text[body_at:], body_line=text.count("\n", 0, closing.end()) + 2, problems=tuple(found)
    )


def _decode(data: bytes, found: list[Problem]) -> str | None:
    nul = data.find(b"\0")
    if nul >= 0:
        found.append(problem("SK004", "holds a NUL byte, so it is not text", line=_line(data, nul), column=_column(data, nul)))
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        found.append(problem("SK003", f"byte 0x{data[error.start]:02x} is not UTF-8", hint="save the file as UTF-8",
                             line=_line(data, error.start), column=_column(data, error.start)))  # fmt: skip
        return None


def _no_frontmatter(text: str) -> Problem:
    hint = "begin the file with `---`, then `name:` and `description:`, then `---`"
    first = text.lstrip()
    if first.startswith("---") and first != text:
        return problem("SK005", "blank lines stand before the opening `---`", hint="delete them", line=1, column=1)
    if text.startswith("---"):
        return problem("SK005", "the first line is not exactly `---`", hint=hint, line=1, column=1)
    return problem("SK005", "there is no frontmatter", hint=hint, line=1, column=1)


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _column(data: bytes, at: int) -> int:
    return at - (data.rfind(b"\n", 0, at) + 1) + 1
