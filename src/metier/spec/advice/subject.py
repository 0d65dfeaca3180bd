"""The input of the lint rules: one skill, read once, split into lines once, and bounded.

Bytes, files, lines and characters in a line are limited, so that no folder can make linting slow. Beyond a limit there is no
advice rather than a guess: a rule that needs all files checks `is_whole` first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from metier.errors import NotFoundError
from metier.spec.codes import problem
from metier.spec.document import Document
from metier.spec.files import SKILL_FILE, FileEntry, Files, OwnFiles
from metier.spec.manifest import Manifest
from metier.spec.parse import parse
from metier.spec.report import Problem
from metier.spec.skill import MAX_SKILL_FILE_BYTES
from metier.values import dataclass

__all__ = ["SHELLS", "LintSubject", "TextLine", "folders_of", "read_subject"]

SHELLS = frozenset({"sh", "bash", "shell", "zsh", "console", "shell-session", "terminal"})

_MOST_LINES = 10_000
_LONGEST_LINE = 2_000
_MOST_FILES = 2_000
_MOST_TEXTS = 100
_MOST_LINES_OF_TEXT = 3_000
_LONGEST_TEXT = 128 * 1024
_LONGEST_TEXTS = 1024 * 1024
_DOCUMENTS = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc")
_CODE = (".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".rb", ".pl", ".ps1")
_DATA = (".json", ".yaml", ".yml", ".toml", ".html", ".css")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?P<marks>`{3,}|~{3,})[ \t]*(?P<word>[\w+#.-]{0,40})")
_KEY = re.compile(r"""^["']?description["']?[ \t]*:[ \t]*""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line that is not blank, from a file of the skill."""

    text: str
    number: int
    language: str | None = None
    """The language of the code block it stands in, possibly empty; None in prose."""

    @property
    def is_prose(self) -> bool:
        return self.language is None


@dataclass(frozen=True, slots=True, kw_only=True)
class LintSubject:
    manifest: Manifest
    document: Document
    lines: tuple[TextLine, ...]
    """Of SKILL.md's body."""
    paths: frozenset[str]
    """Every file of the skill."""
    folders: frozenset[str]
    """Every folder that holds one of them, at any depth."""
    texts: Mapping[str, tuple[TextLine, ...]]
    """The other files that are text, by path."""
    is_whole: bool
    """False if a limit left something unread."""

    @property
    def prose(self) -> Iterator[TextLine]:
        return (line for line in self.lines if line.is_prose)

    def about_description(self, code: str, message: str, hint: str) -> Problem:
        found = _KEY.search(self.document.frontmatter)
        if not found:
            return problem(code, message, hint=hint, line=2, column=1)
        line = self.document.frontmatter.count("\n", 0, found.start()) + 2
        return problem(code, message, hint=hint, line=line, column=found.end() - found.start() + 1)


def read_subject(files: Files, folder: str | None) -> LintSubject | None:
    """Returns the subject, or None if the skill cannot be loaded."""
    try:
        parsed = parse(files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES), folder=folder)
    except (NotFoundError, OSError):
        return None
    if parsed.manifest is None:
        return None
    entries = list(islice(OwnFiles(files).list(), _MOST_FILES + 1))
    texts, is_whole = _texts(files, entries)
    lines = tuple(islice(_lines(parsed.body, parsed.document.body_line), _MOST_LINES + 1))
    return LintSubject(
        manifest=parsed.manifest,
        document=parsed.document,
        lines=lines[:_MOST_LINES],
        paths=frozenset(entry.path for entry in entries),
        folders=frozenset(folder for entry in entries for folder in folders_of(entry.path)),
        texts=texts,
        is_whole=is_whole and len(entries) <= _MOST_FILES and len(lines) <= _MOST_LINES,
    )


def folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _texts(files: Files, entries: Iterable[FileEntry]) -> tuple[dict[str, tuple[TextLine, ...]], bool]:
    """Returns the text of the other files, and whether all documents and scripts were read."""
    texts: dict[str, tuple[TextLine, ...]] = {}
    left = _LONGEST_TEXTS
    is_whole = True
    # Documents first: a model reads them, and they mention other files.
    for endings in (_DOCUMENTS, _CODE, _DATA):
        for entry in entries:
            if entry.path == SKILL_FILE or not entry.path.lower().endswith(endings):
                continue
            lines = _text(files, entry, left) if len(texts) < _MOST_TEXTS else None
            if lines is not None:
                left -= entry.size
                texts[entry.path] = lines[:_MOST_LINES_OF_TEXT]
            is_whole = is_whole and (endings is _DATA or (lines is not None and len(lines) <= _MOST_LINES_OF_TEXT))
    return texts, is_whole


def _text(files: Files, entry: FileEntry, left: int) -> tuple[TextLine, ...] | None:
    if entry.size > min(left, _LONGEST_TEXT):
        return None
    try:
        data = files.read(entry.path, limit=_LONGEST_TEXT)
    except (NotFoundError, OSError):
        return None
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return tuple(islice(_lines(text, 1), _MOST_LINES_OF_TEXT + 1))


def _lines(text: str, first: int) -> Iterator[TextLine]:
    language: str | None = None
    fence = ""
    for number, line in enumerate(text.split("\n"), start=first):
        if not line or line.isspace():
            continue
        shown = line[:_LONGEST_LINE]
        found = _FENCE.match(shown)
        if fence:
            if found and found["marks"].startswith(fence) and not shown[found.end("marks") :].strip():
                language, fence = None, ""
            else:
                yield TextLine(shown, number, language)
        # Backticks in the rest of the line mean inline code and not a fence.
        elif found and not (found["marks"][0] == "`" and "`" in shown[found.end("marks") :]):
            fence, language = found["marks"], found["word"].lower()
        else:
            yield TextLine(shown, number)
