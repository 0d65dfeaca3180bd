"""Console transcripts: commands with their expected output.

A test is a Markdown page with ```console blocks. A line that begins with `$ ` is a command; the lines after it are the expected
output, standard output and errors together. `...` matches anything, several lines too; a last line `[2]` is the exit code,
by default 0. A command without expected output must print nothing. One with exit code 80 skips the rest of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff

from metier.values import dataclass

__all__ = ["SKIPPED", "ConsoleStep", "difference", "read_transcript"]

SKIPPED = 80
_BLOCK = re.compile(r"^ {0,3}```console[^\n]*\n(.*?)^ {0,3}```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ", re.MULTILINE)
_CODE = re.compile(r"\[(\d{1,3})\]")
_MOST_WILD = 50
"""Wildcards of one step: each makes matching slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleStep:
    command: str
    expected: str = ""
    code: int = 0
    line: int = 1


def read_transcript(text: str) -> tuple[ConsoleStep, ...]:
    """The steps of a page; none if it has no console block."""
    return tuple(_steps(text.replace("\r\n", "\n")))


def difference(step: ConsoleStep, code: int, output: str) -> str:
    """A diff between the expected and the actual output; empty if they match."""
    if code == step.code and _fits(step.expected, output):
        return ""
    found = [*_lines(output), *([f"[{code}]"] if code else [])]
    wanted = [*_lines(step.expected), *([f"[{step.code}]"] if step.code else [])]
    return "\n".join(unified_diff(wanted, found, "expected", "printed", lineterm=""))


def _steps(text: str) -> Iterator[ConsoleStep]:
    for block in _BLOCK.finditer(text):
        starts = [found.end() for found in _COMMAND.finditer(block[1])]
        for start, end in zip(starts, [*(start - 2 for start in starts[1:]), len(block[1])], strict=False):
            yield _step(block[1][start:end], text.count("\n", 0, block.start(1) + start) + 1)


def _step(part: str, line: int) -> ConsoleStep:
    command, _, rest = part.partition("\n")
    while command.endswith("\\"):
        more, _, rest = rest.partition("\n")
        command = f"{command}\n{more}"
    lines = rest.strip("\n").split("\n") if rest.strip() else []
    code = _CODE.fullmatch(lines[-1].strip()) if lines else None
    expected = "\n".join(lines[:-1] if code else lines)
    return ConsoleStep(command=command, expected=expected, code=int(code[1]) if code else 0, line=line)


def _fits(expected: str, output: str) -> bool:
    parts = expected.split("...", _MOST_WILD)
    text = "\n".join(_lines(output))
    parts = ["\n".join(_lines(part)) if len(parts) == 1 else part for part in parts]
    return _in_order(parts, text)


def _in_order(parts: list[str], text: str) -> bool:
    """Returns True if the parts follow each other, the first at the start and the last at the end. Never backtracks."""
    if len(parts) == 1:
        return text == parts[0]
    first, *middle, last = parts
    last = last.rstrip()
    if not text.startswith(first) or not text.endswith(last) or len(first) + len(last) > len(text):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True


def _lines(text: str) -> list[str]:
    """The lines without trailing spaces and surrounding blank lines."""
    return [line.rstrip() for line in text.strip("\n").split("\n")] if text.strip() else []
