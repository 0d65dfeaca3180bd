"""Splits a Markdown file into prose and code.

The prose keeps its length and line breaks (code becomes spaces), so every offset in it is an offset in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from metier.lazy import lazy_pattern
from metier.scan.text import GAP, SkillText, TextKind

__all__ = ["split_document"]

_FENCE = lazy_pattern(
    r"^[ \t>]{0,20}(?:[-*+][ \t]{1,4}|\d{1,3}[.)][ \t]{1,4})?(`{3,20}|~{3,20})[ \t]{0,8}([\w+#.-]{0,40})([^\n]{0,300})$",
    re.MULTILINE,
)
_INLINE = lazy_pattern(r"(?<!`)`([^`\n]{3,400})`(?!`)")
_KINDS = {
    "sh": TextKind.SHELL,
    "bash": TextKind.SHELL,
    "shell": TextKind.SHELL,
    "zsh": TextKind.SHELL,
    "console": TextKind.SHELL,
    "terminal": TextKind.SHELL,
    "shell-session": TextKind.SHELL,
    "": TextKind.SHELL,
    "dockerfile": TextKind.SHELL,
    "text": TextKind.SHELL,
    "txt": TextKind.SHELL,
    "command": TextKind.SHELL,
    "python": TextKind.PYTHON,
    "py": TextKind.PYTHON,
    "python3": TextKind.PYTHON,
    "javascript": TextKind.JAVASCRIPT,
    "js": TextKind.JAVASCRIPT,
    "typescript": TextKind.JAVASCRIPT,
    "ts": TextKind.JAVASCRIPT,
    "jsx": TextKind.JAVASCRIPT,
    "tsx": TextKind.JAVASCRIPT,
    "node": TextKind.JAVASCRIPT,
    "mjs": TextKind.JAVASCRIPT,
    "powershell": TextKind.POWERSHELL,
    "ps1": TextKind.POWERSHELL,
    "pwsh": TextKind.POWERSHELL,
    "cmd": TextKind.POWERSHELL,
    "bat": TextKind.POWERSHELL,
}
_MOST_BLOCKS = 2_000
_MOST_INLINE = 3_000


def split_document(text: SkillText) -> list[SkillText]:
    """Returns the prose of a document, then its code blocks and inline commands."""
    spans = list(islice(_blocks(text.text), _MOST_BLOCKS))
    blocks = [
        SkillText(
            text.path,
            _KINDS.get(language, TextKind.OTHER),
            text.text[start:end],
            first=text.first + text.text.count("\n", 0, start),
            via=text.via,
            is_in_document=True,
            around=text.low[max(0, start - 220) : start] + GAP,
        )
        for start, end, language in spans
        if end > start
    ]
    prose = _without(text.text, spans)
    blocks += islice(_inline(text, prose), _MOST_INLINE)
    return [SkillText(text.path, TextKind.PROSE, prose, first=text.first, via=text.via), *blocks]


def _blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields start, end and language of each fenced block. An unclosed block goes to the end."""
    opened: tuple[str, int, str] | None = None
    for found in _FENCE.finditer(text):
        marks, word, rest = found[1], found[2].lower(), found[3]
        if opened is None:
            if not (marks[0] == "`" and "`" in rest):
                opened = (marks, min(found.end() + 1, len(text)), word)
        elif marks.startswith(opened[0]) and not word and not rest.strip():
            yield opened[1], max(opened[1], found.start()), opened[2]
            opened = None
    if opened is not None:
        yield opened[1], len(text), opened[2]


def _without(text: str, spans: list[tuple[int, int, str]]) -> str:
    parts, last = [], 0
    for start, end, _ in spans:
        parts.append(text[last:start])
        parts.append(re.sub(r"[^\n]", " ", text[start:end]))
        last = end
    parts.append(text[last:])
    return "".join(parts)


def _inline(text: SkillText, prose: str) -> Iterator[SkillText]:
    line, counted = text.first, 0
    for found in _INLINE.finditer(prose):
        if " " in found[1]:
            line += prose.count("\n", counted, found.start())
            counted = found.start()
            column = found.start(1) - (prose.rfind("\n", 0, found.start()) + 1) + 1
            around = text.low[max(0, found.start() - 160) : found.start()] + GAP + text.low[found.end() : found.end() + 80]
            yield SkillText(
                text.path,
                TextKind.SHELL,
                found[1],
                first=line,
                column=column,
                via=text.via,
                is_in_document=True,
                is_inline=True,
                around=around,
            )
