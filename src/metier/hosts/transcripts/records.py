"""JSON records of a transcript file, one for each line, and safe access to their fields.

A transcript may be damaged, huge or written by an unknown version: a field of another type is the same as a missing one, and
a line that is too long is skipped without being held in memory.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any, TypeGuard

from metier.spec import is_name

from .events import BadRecord

__all__ = [
    "Record",
    "dict_at",
    "error_line",
    "list_at",
    "name_in",
    "number_at",
    "open_transcript",
    "read_records",
    "skills_read_by",
    "text_at",
    "text_of_blocks",
    "time_at",
    "user_text",
]

Record = dict[str, Any]  # Any: JSON
_LONGEST_LINE = 8 << 20
_LONGEST_REQUEST = 8_000
_LONGEST_ERROR = 120
_TAG = re.compile(r"</?[a-z_]+>")
_LAST_TIME = 32_503_680_000
"""The year 3000: a later time is a mistake, and not every calendar function takes it."""
# One repeated part after each separator, so that a hostile command costs no more than its length.
_READERS = re.compile(r"(?:^|[;&|\n'\"])[ \t]*(?:cat|head|tail|less|more|bat|nl|type|Get-Content|sed -n)\b[^;&|\n]*")
_SKILL_FILE = re.compile(r"([^/\\\s'\"]+)[/\\]SKILL\.md\b")


def open_transcript(path: str) -> IO[bytes]:
    """Opens a regular file. Raises OSError for anything else, also for a link: it could lead anywhere."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def read_records(stream: IO[bytes]) -> Iterator[Record | BadRecord]:
    """Yields the JSON objects of a file of lines. The last line may still be incomplete, because its agent is writing it."""
    while line := stream.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := stream.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            yield BadRecord("a line is too long")
            continue
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            yield BadRecord("a line is not JSON")
            continue
        yield record if isinstance(record, dict) else BadRecord("a line is not an object")


def dict_at(record: object, *keys: str) -> Record:
    value: object = record
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def list_at(record: Record, key: str) -> list[Any]:  # Any: JSON
    value = record.get(key)
    return value if isinstance(value, list) else []


def text_at(record: Record, *keys: str) -> str:
    """Returns the first of these fields that is a text."""
    found = next((record[key] for key in keys if isinstance(record.get(key), str)), "")
    # JSON can hold half a surrogate pair, which no file and no terminal takes.
    return str(found).encode("utf-8", "replace").decode()


def number_at(record: Record, *keys: str) -> int:
    """Returns the sum of these fields."""
    values = (record.get(key) for key in keys)
    return sum(max(0, int(value)) for value in values if _is_number(value))


def time_at(record: Record, *keys: str) -> float:
    """Returns the first of these fields that is a time: ISO text, or a number of seconds or milliseconds."""
    for key in keys:
        value = record.get(key)
        seconds = 0.0
        if _is_number(value):
            seconds = value / 1000 if value > 1e11 else float(value)
        elif isinstance(value, str):
            try:
                seconds = datetime.fromisoformat(value).timestamp()
            except (ValueError, OverflowError, OSError):
                continue
        if 0 < seconds < _LAST_TIME:
            return seconds
    return 0.0


def text_of_blocks(content: object) -> str:
    """Returns the text of a message: a text, or a list of blocks that have one."""
    if isinstance(content, str):
        return text_at({"text": content}, "text")
    blocks = content if isinstance(content, list) else []
    return "\n".join(text_at(block, "text") for block in blocks if isinstance(block, dict) and "text" in block)


def user_text(text: str) -> str:
    """Returns a request with its middle cut out if it is very long."""
    text = text.strip()
    half = _LONGEST_REQUEST // 2
    return text if len(text) <= _LONGEST_REQUEST else f"{text[:half]}\n{text[-half:]}"


def name_in(text: str) -> str:
    """Returns a skill's name without its plugin's, as in `plugin:name`; empty if it is not a name."""
    name = text.strip().rpartition(":")[2]
    return name if is_name(name) else ""


def error_line(text: str) -> str:
    """Returns the first line of an agent's error, shortened and without its tags."""
    lines = (line.strip() for line in _TAG.sub("", text[:_LONGEST_REQUEST]).splitlines())
    return next(filter(None, lines), "")[:_LONGEST_ERROR]


def skills_read_by(command: str) -> list[str]:
    """Returns the names of the skills whose SKILL.md a shell command prints."""
    printed = " ".join(found.group() for found in _READERS.finditer(command[:20_000]))
    return list(dict.fromkeys(name for name in _SKILL_FILE.findall(printed) if is_name(name)))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e15 < value < 1e15
