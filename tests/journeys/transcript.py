"""Runs a journey: a page of commands, answers and output, typed into a real shell on a real terminal.

A journey is Markdown. In its `console` blocks

- a line that begins with `$ ` is typed at the shell's prompt; `\\` at its end continues it;
- `[[text]]` is typed at a question of the program, followed by Enter; `[[Space]]`, `[[Down]]`, `[[Ctrl-C]]` and so on are keys;
- the rest is all that the command prints, line by line; `...` stands for any text;
- `(exit 3)` on a line of its own is the exit status of the command before it, which is 0 otherwise.

A `file NAME` block writes a file into the current folder. One shell runs the whole page, so `cd` and variables last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pexpect

__all__ = ["JourneyError", "ShellTerminal", "run_journey"]

_BLOCK = re.compile(r"^```(console|file [^\n]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"^\(exit (\d+)\)\n?", re.MULTILINE)
_TYPED = re.compile(r"\[\[(.+?)\]\]\n?")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[=>]|\x1b[()][0-9A-B]")
_PROMPT = re.compile(r"journey (\d+)> \Z")
_KEYS = {
    "Enter": "\r", "Space": " ", "Down": "\x1b[B", "Up": "\x1b[A", "Tab": "\t", "Esc": "\x1b",
    "Ctrl-C": "\x03", "Ctrl-D": "\x04",
}  # fmt: skip
_PATIENCE = 120.0
_COLUMNS = 120


class JourneyError(AssertionError):
    """A step went differently. The message holds the transcript so far."""


def run_journey(page: Path, terminal: ShellTerminal) -> None:
    for language, text in _blocks(page):
        if language == "console":
            for command, expected in _steps(text):
                terminal.run(command, expected)
        else:
            terminal.write_file(language.removeprefix("file "), text)


def _blocks(page: Path) -> Iterator[tuple[str, str]]:
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield found[1], found[2]


def _steps(block: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = f"{command[:-1].rstrip()} {more.strip()}"
        yield command, expected


@dataclass
class ShellTerminal:
    """A bash on a pseudo-terminal. `transcript` is what a person has seen so far."""

    folder: Path
    environment: Mapping[str, str]
    transcript: str = ""

    def __post_init__(self) -> None:
        self._raw = ""
        self._child = pexpect.spawn(
            "/bin/bash",
            ["--norc", "--noprofile", "--noediting", "-i"],
            cwd=str(self.folder),
            encoding="utf-8",
            timeout=_PATIENCE,
            env={**self.environment, "PS1": "journey $?> ", "PS2": "", "HISTFILE": "/dev/null"},
            dimensions=(50, _COLUMNS),
            echo=False,  # the transcript says what is typed
        )
        self._take(lambda screen: _PROMPT.search(screen), "the first prompt")

    def run(self, command: str, expected: str) -> None:
        """Types a command and its answers, and compares all that it prints and its exit status."""
        wanted = _EXIT.search(expected)
        self._say(f"$ {command}\n")
        self._child.sendline(command)
        shown, *answers = _TYPED.split(_EXIT.sub("", expected))
        for answer, following in zip(answers[::2], answers[1::2], strict=True):
            pattern = re.compile(_pattern(shown.rstrip("\n")), re.DOTALL)
            self._say(self._take(lambda screen, pattern=pattern: pattern.match(screen), shown)[0] + answer + "\n")
            self._child.send(_KEYS.get(answer, f"{answer}\r"))
            # A program that reads keys itself shows what was typed; the terminal's own echo is off.
            shown = f"{following}"
        found = self._take(lambda screen: _PROMPT.search(screen), shown)
        printed = found.string[: found.start()]
        self._say(printed)
        if not re.fullmatch(_pattern(shown) + r"\s*", printed, re.DOTALL):
            self._fail(f"`{command}` printed something else", shown)
        status = int(wanted[1]) if wanted else 0
        if int(found[1]) != status:
            self._fail(f"`{command}` ended with exit status {found[1]}, not {status}", shown)

    def write_file(self, name: str, text: str) -> None:
        here = Path(os.readlink(f"/proc/{self._child.pid}/cwd"))
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text, encoding="utf-8")

    def close(self) -> None:
        self._child.close(force=True)

    def _take(self, match: Callable[[str], re.Match[str] | None], expected: str) -> re.Match[str]:
        """Reads until the unread text matches, and consumes that much."""
        while True:
            screen = _clean(self._raw)
            found = match(screen)
            if found:
                self._raw = screen[found.end() :]
                return found
            try:
                self._raw += self._child.read_nonblocking(65536, timeout=_PATIENCE)
            except (pexpect.TIMEOUT, pexpect.EOF):
                self._say(screen)
                self._fail("the program waits, or has ended", expected)

    def _say(self, text: str) -> None:
        self.transcript += text

    def _fail(self, reason: str, expected: str) -> None:
        raise JourneyError(f"{reason}\n--- expected\n{expected}\n--- transcript\n{self.transcript}")


def _pattern(expected: str) -> str:
    lines = "\n".join(line.rstrip() for line in expected.split("\n"))
    return r"\n?" + ".*?".join(re.escape(part) for part in lines.split("..."))


def _clean(raw: str) -> str:
    """Returns the text as a terminal shows it, line by line: no colours, and only what was written last over a line."""
    lines = _ESCAPE.sub("", raw).replace("\r\n", "\n").split("\n")
    return "\n".join([*(line.rpartition("\r")[2].rstrip() for line in lines[:-1]), lines[-1].rpartition("\r")[2]])
