"""Slash commands from Markdown files, such as those in `.claude/commands` and `.agent/commands`.

The name of the file is the name of the command; its text is the message, with `$ARGUMENTS` and `$1` to `$9` replaced. The
caller passes only trusted folders, because the text is sent as the user's message.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable

from metier.sources import read_regular
from metier.spec import split_document
from metier.values import dataclass

__all__ = ["SlashCommand", "read_slash_commands"]

_LARGEST = 256 * 1024
_NAME = re.compile(r"[\w][\w.-]{0,63}")
_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    name: str
    """`review`, or `git:commit` for a file in a subfolder."""
    description: str
    text: str
    file: str

    def fill(self, arguments: str) -> str:
        """The message. Arguments without a placeholder are appended."""
        try:
            words = shlex.split(arguments)
        except ValueError:
            words = arguments.split()
        values = {"ARGUMENTS": arguments, **{str(place): word for place, word in enumerate(words[:9], start=1)}}
        if arguments and not _PLACE.search(self.text):
            return f"{self.text}\n\n{arguments}"
        return _PLACE.sub(lambda match: values.get(match[1], ""), self.text)


def read_slash_commands(folders: Iterable[str]) -> dict[str, SlashCommand]:
    """The commands by name. Later folders win; unreadable files are skipped."""
    found: dict[str, SlashCommand] = {}
    for root in folders:
        for folder, _, files in os.walk(root, followlinks=False):
            inner = os.path.relpath(folder, root)
            prefix = "" if inner == "." else ":".join(inner.split(os.sep)) + ":"
            for file in sorted(files):
                stem, dot, ending = file.rpartition(".")
                path = os.path.join(folder, file)
                if dot and ending.lower() == "md" and _NAME.fullmatch(stem):
                    command = _read(f"{prefix}{stem}", path)
                    if command is not None:
                        found[command.name] = command
    return found


def _read(name: str, path: str) -> SlashCommand | None:
    try:
        known = os.lstat(path)
        if not stat.S_ISREG(known.st_mode) or known.st_size > _LARGEST:
            return None
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError):
        return None
    description, body = _head(text)
    return SlashCommand(name=name, description=description or _first_line(body), text=body.strip(), file=path)


def _head(text: str) -> tuple[str, str]:
    """The description in the frontmatter, if any, and the body."""
    if not text.startswith("---"):
        return "", text
    parts = split_document(text.encode())
    line = re.search(r"^description:[ \t]*(.+)$", text[: len(text) - len(parts.body)], re.MULTILINE)
    return (line[1].strip().strip("\"'") if line else ""), parts.body


def _first_line(text: str) -> str:
    return next((line.strip("# ").strip() for line in text.splitlines() if line.strip()), "")
