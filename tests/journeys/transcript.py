"""Runs a journey: a page of commands, answers and output, typed into a real shell on a real terminal.

A journey is Markdown. In its `console` blocks

- a line that begins with `$ ` is typed at the shell's prompt; `\\` at its end continues it;
- `[[text]]` is typed at a question of the program, followed by Enter; `[[Space]]`, `[[Down]]`, `[[Ctrl-C]]` and so on are keys;
- `[[!command]]` is run by another shell meanwhile, in the same folder;
- the rest is what the screen shows when the command has ended, line by line; `...` stands for any text;
- `(exit 3)` on a line of its own is the exit status of the command before it, which is 0 otherwise.

A `file NAME` block writes a file into the current folder. One shell runs the whole page, so `cd` and variables last.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
import pyte
from rich.style import Style
from rich.text import Text

__all__ = ["JourneyError", "ShellTerminal", "read_blocks", "read_steps", "run_journey"]

_BLOCK = re.compile(r"^(`{3,})(console|file [^\n]+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"^\(exit (\d+)\)\n?", re.MULTILINE)
_TYPED = re.compile(r"\[\[(.+?)\]\]")
_PROMPT = re.compile(r"journey (\d+)>\s*\Z")
_KEYS = {
    "Enter": "\r", "Space": " ", "Down": "\x1b[B", "Up": "\x1b[A", "Tab": "\t", "Esc": "\x1b",
    "Ctrl-C": "\x03", "Ctrl-D": "\x04",
}  # fmt: skip
_PATIENCE = 120.0
_ROWS = 2000
"""Taller than the terminal that programs see, so that nothing scrolls out of sight."""


class JourneyError(AssertionError):
    """A step went differently. The message holds the transcript so far."""


def run_journey(page: Path, terminal: ShellTerminal) -> None:
    for language, text in read_blocks(page):
        if language == "console":
            for command, expected in read_steps(text):
                terminal.run(command, expected)
        else:
            terminal.write_file(language.removeprefix("file "), text)


def read_blocks(page: Path) -> Iterator[tuple[str, str]]:
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield found[2], found[3]


def read_steps(block: str) -> Iterator[tuple[str, str]]:
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
    columns: int = 160
    transcript: str = ""
    _screen: pyte.Screen = field(init=False)

    def __post_init__(self) -> None:
        self._child = pexpect.spawn(
            "/bin/bash",
            ["--norc", "--noprofile", "--noediting", "-i"],
            cwd=str(self.folder),
            encoding="utf-8",
            timeout=_PATIENCE,
            env={**self.environment, "PS1": "journey $?> ", "PS2": "", "HISTFILE": "/dev/null"},
            dimensions=(50, self.columns),
            echo=False,  # the transcript says what is typed
        )
        self._clear()
        self._wait_for_prompt("")

    def run(self, command: str, expected: str) -> None:
        """Types a command and its answers, and compares the screen at its end and its exit status."""
        status = _EXIT.search(expected)
        shown = _EXIT.sub("", expected)
        found = self.enter(command, shown)
        if not re.fullmatch(_pattern(shown), found.string[: found.start()], re.DOTALL):
            self._fail(f"`{command}` printed something else", shown)
        if found[1] != (status[1] if status else "0"):
            self._fail(f"`{command}` ended with exit status {found[1]}", expected)

    def enter(self, command: str, shown: str) -> re.Match[str]:
        """Types a command and its answers. Returns the prompt after it, found in all that the screen shows."""
        self._clear()
        self.transcript += f"$ {command}\n"
        self._child.sendline(command)
        since = 0
        for typed in _TYPED.finditer(shown):
            words = _last_words(shown[: typed.start()])
            if typed[1].startswith("!"):
                # The line of the question before this one may not show its answer yet.
                since = self._wait_for_question(words, since + 1, unanswered=True)
                subprocess.run(
                    ["/bin/bash", "-c", typed[1][1:]], cwd=self._folder_now(), env=dict(self.environment), check=True
                )
            else:
                since = self._wait_for_question(words, since)
                self._child.send(_KEYS.get(typed[1], f"{typed[1]}\r"))
        found = self._wait_for_prompt(shown)
        self.transcript += found.string[: found.start()]
        return found

    def write_file(self, name: str, text: str) -> None:
        here = self._folder_now()
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text, encoding="utf-8")

    def _folder_now(self) -> Path:
        return Path(os.readlink(f"/proc/{self._child.pid}/cwd"))

    def styled_lines(self) -> list[Text]:
        """Returns what the last command showed, with its colours and without the prompt."""
        lines = []
        for row in range(len(self._lines())):
            cells = [self._screen.buffer[row][column] for column in range(self.columns)]
            line = Text()
            for cell in cells:
                line.append(
                    cell.data, Style(color=_colour(cell.fg), bold=cell.bold, italic=cell.italics, underline=cell.underscore)
                )
            line.rstrip()
            lines.append(line)
        while lines and (not lines[-1].plain or _PROMPT.search(lines[-1].plain)):
            lines.pop()
        return lines

    def close(self) -> None:
        self._child.close(force=True)

    def _clear(self) -> None:
        self._screen = pyte.Screen(self.columns, _ROWS)
        self._stream = pyte.Stream(self._screen)

    def _lines(self) -> list[str]:
        """Returns the lines down to the last one that is not empty."""
        used = max((row for row, line in self._screen.buffer.items() if line), default=-1) + 1
        return [line.rstrip() for line in self._screen.display[: max(used, self._screen.cursor.y + 1)]]

    def _wait_for_question(self, words: str, since: int, *, unanswered: bool = False) -> int:
        """Waits until a line shows these words, or only them; returns its number. Earlier lines are answered questions."""
        while True:
            for number, line in enumerate(self._lines()):
                if number >= since and (line.endswith(words) if unanswered else words in line):
                    return number
            self._read(words)

    def _wait_for_prompt(self, expected: str) -> re.Match[str]:
        while True:
            found = _PROMPT.search("\n".join(self._lines()))
            if found:
                return found
            self._read(expected)

    def _read(self, expected: str) -> None:
        try:
            self._stream.feed(self._child.read_nonblocking(65536, timeout=_PATIENCE))
        except (pexpect.TIMEOUT, pexpect.EOF):
            self.transcript += "\n".join(self._lines())
            self._fail("the program waits, or has ended", expected)

    def _fail(self, reason: str, expected: str) -> None:
        raise JourneyError(f"{reason}\n--- expected\n{expected}\n--- transcript\n{self.transcript}")


def _colour(name: str) -> str | None:
    """Returns rich's name of a colour of pyte."""
    if name == "default":
        return None
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f"#{name}"
    return name.replace("brown", "yellow").replace("bright", "bright_")


def _last_words(text: str) -> str:
    """Returns the literal text on the line of a question."""
    line = _TYPED.split(text)[-1].rpartition("\n")[2]
    return line.rpartition("...")[2].strip()


def _pattern(expected: str) -> str:
    """Returns the regular expression for a screen: `...` is anything, an answer is shown or not."""
    first, *rest = _TYPED.split(expected.rstrip("\n"))
    pattern = _literal(first.rstrip())
    for answer, following in zip(rest[::2], rest[1::2], strict=True):
        echo = "" if answer in _KEYS or answer.startswith("!") else f"(?:{re.escape(answer)})?"
        # With the terminal's echo off, the end of an answered line does not show either.
        pattern += rf"\s*{echo}\s*{_literal(following.strip())}"
    return rf"{pattern}\s*"


def _literal(text: str) -> str:
    return ".*?".join(re.escape(part) for part in text.split("..."))
