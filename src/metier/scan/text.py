"""A piece of a skill's text: its kind, its place in a file, and its lowercase form."""

from __future__ import annotations

from enum import StrEnum

from metier.lazy import lazy_pattern
from metier.values import dataclass, field

__all__ = ["GAP", "SkillText", "TextKind", "escape_invisible", "excerpt_of", "kind_of", "lowered"]


GAP = " \x1e "
"""Marks the place of the piece itself in `SkillText.around`."""


class TextKind(StrEnum):
    PROSE = "prose"
    """Markdown without its code: what a model reads as instructions."""
    SHELL = "shell"
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    POWERSHELL = "powershell"
    OTHER = "other"
    """Configuration, data and other languages: searched for phrases only."""


_ENDINGS = {
    ".md": TextKind.PROSE, ".mdx": TextKind.PROSE, ".markdown": TextKind.PROSE, ".txt": TextKind.PROSE, ".rst": TextKind.PROSE,
    ".sh": TextKind.SHELL, ".bash": TextKind.SHELL, ".zsh": TextKind.SHELL, ".command": TextKind.SHELL, ".ksh": TextKind.SHELL,
    ".py": TextKind.PYTHON, ".pyw": TextKind.PYTHON, ".pth": TextKind.PYTHON,
    ".js": TextKind.JAVASCRIPT, ".mjs": TextKind.JAVASCRIPT, ".cjs": TextKind.JAVASCRIPT, ".ts": TextKind.JAVASCRIPT,
    ".tsx": TextKind.JAVASCRIPT, ".jsx": TextKind.JAVASCRIPT, ".mts": TextKind.JAVASCRIPT, ".cts": TextKind.JAVASCRIPT,
    ".ps1": TextKind.POWERSHELL, ".psm1": TextKind.POWERSHELL, ".bat": TextKind.POWERSHELL, ".cmd": TextKind.POWERSHELL,
}  # fmt: skip
_INTERPRETERS = (
    ("python", TextKind.PYTHON),
    ("node", TextKind.JAVASCRIPT),
    ("deno", TextKind.JAVASCRIPT),
    ("bun", TextKind.JAVASCRIPT),
    ("sh", TextKind.SHELL),
    ("pwsh", TextKind.POWERSHELL),
)
# Characters that move the cursor, hide or reorder text, or are blank letters. An excerpt shows their code points.
_UNSHOWN = lazy_pattern(r"[^\x20-\x7e\xa1-\xac\xae-\u05ff\u0900-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff\uf900-\ufdff"
                      r"\ufe10-\ufefe\uff01-\uffee\U00010000-\U000dffff]"
                      r"|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U0001d173-\U0001d17a]")  # fmt: skip


@dataclass(frozen=True, slots=True)
class SkillText:
    path: str
    kind: TextKind
    text: str
    first: int = 1
    """The line of the file on which the piece starts."""
    column: int = 1
    """The column of the first character; later lines start at 1."""
    via: str = ""
    """The encoding that was decoded, such as `base64`; empty for plain text. Decoded text is all on line `first`."""
    is_in_document: bool = False
    """A code block or inline code of a document, rather than a script file."""
    is_inline: bool = False
    """Inline code, which is part of the document's prose too."""
    around: str = ""
    """The lowercase text around a piece of a document."""
    low: str = field(init=False, compare=False, repr=False, default="")
    """The text in lowercase, on one line, without emphasis, of the same length. Phrases are looked up in it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", lowered(self.text, is_prose=self.kind is TextKind.PROSE))

    def position(self, at: int) -> tuple[int, int]:
        """Returns line and column in the file."""
        if self.via:
            return self.first, self.column
        lines = self.text.count("\n", 0, at)
        start = self.text.rfind("\n", 0, at) + 1
        return self.first + lines, at - start + (1 if lines else self.column)

    def within(self, kind: TextKind, code: str, *, line: int, column: int = 1) -> SkillText:
        """Returns code that this text passes to an interpreter, as a text at the same place."""
        return SkillText(
            self.path,
            kind,
            code,
            first=line,
            column=column,
            via=self.via,
            is_in_document=self.is_in_document,
            around=self.around,
        )

    def line_around(self, at: int) -> str:
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        return self.text[start : end if end >= 0 else len(self.text)][:2_000]


_SMOOTH = {"\n": " ", "\t": " ", "*": " ", "\u2019": "'", "\u00a0": " ", "\u201c": '"', "\u201d": '"'}
_BLANK = str.maketrans("\n\t\r", "   ")
_SMOOTH_CODE = {"\n": " ", "\t": " "}


def lowered(text: str, *, is_prose: bool) -> str:
    low = text.lower()
    if len(low) != len(text):
        # A few capitals become two characters; offsets must not change.
        low = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    # Replacing one character after another is ten times as fast as a table where a text has characters beyond ASCII.
    for old, new in (_SMOOTH if is_prose else _SMOOTH_CODE).items():
        low = low.replace(old, new)
    return low


def kind_of(path: str, text: str) -> TextKind:
    name = path.rpartition("/")[2].lower()
    dot = name.rfind(".")
    found = _ENDINGS.get(name[dot:]) if dot > 0 else None
    if found is not None:
        return found
    if text.startswith("#!"):
        first = text[: text.find("\n") if "\n" in text else 200][:200]
        for word, kind in _INTERPRETERS:
            if word in first:
                return kind
    if name in ("dockerfile", "makefile", "justfile", "procfile"):
        return TextKind.SHELL
    return TextKind.OTHER if dot > 0 else TextKind.PROSE


def escape_invisible(text: str) -> str:
    """Replaces invisible, directional and control characters with their code points."""
    return _UNSHOWN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def excerpt_of(text: str, limit: int = 160) -> str:
    """Returns one safe line of at most `limit` characters, with invisible characters as code points."""
    flat = " ".join(escape_invisible(text[: limit * 2].translate(_BLANK)).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
