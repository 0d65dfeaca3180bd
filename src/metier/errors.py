"""Everything metier raises on purpose, drawn as one tree.

The branches say who must act, because that is what a caller decides on:

    MetierError
    ├── InvalidSkill     the skill's author: holds the Report that says where and why
    ├── BadName          whoever chose the name
    ├── BadConfig        whoever wrote the configuration file: names file and line
    ├── BadUsage         whoever typed the command
    ├── NotFound         the user named something that is not here
    │   └── SkillNotFound
    ├── Ambiguous        the user named several things at once
    ├── Unavailable      nobody yet: the same call may succeed later (never mixed up with NotFound)
    ├── Refused          policy said no, and names the rule
    ├── Conflict         something is in the way: a name taken, a file changed meanwhile
    └── ToolFailed       told to the model as an answer; it never ends a session

`code` is for programs and never changes, `hint` is for people, `exit_status` is what the command line ends with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metier.spec import Report

__all__ = [
    "Ambiguous",
    "BadConfig",
    "BadName",
    "BadUsage",
    "Conflict",
    "InvalidSkill",
    "MetierError",
    "NotFound",
    "Refused",
    "SkillNotFound",
    "ToolFailed",
    "Unavailable",
]


class MetierError(Exception):
    """Anything we raise on purpose."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class InvalidSkill(MetierError):
    code = "invalid-skill"
    exit_status = 1

    def __init__(self, message: str, *, report: Report, hint: str = "") -> None:
        super().__init__(message, hint=hint or "see `metier skill validate` for every problem and its place")
        self.report = report


class BadUsage(MetierError):
    code = "usage"
    exit_status = 2


class BadName(MetierError, ValueError):
    code = "bad-name"
    exit_status = 2

    def __init__(self, name: str) -> None:
        slug = suggested_name(name)
        super().__init__(
            f"{_shown(name)} is not a skill name",
            hint=f"try {slug!r}" if slug else "use a-z, 0-9 and single hyphens, 64 characters at most",
        )


class BadConfig(MetierError, ValueError):
    code = "bad-config"
    exit_status = 2

    def __init__(self, message: str, *, file: str, line: int | None = None, hint: str) -> None:
        super().__init__(f"{file}:{line}: {message}" if line else f"{file}: {message}", hint=hint)
        self.file = file
        self.line = line


class NotFound(MetierError, LookupError):
    code = "not-found"
    exit_status = 3


class SkillNotFound(NotFound):
    code = "skill-not-found"

    def __init__(self, name: str, *, known: Iterable[str] = (), hint: str = "") -> None:
        near = nearest(name, known)
        super().__init__(
            f"no skill is named {_shown(name)}",
            hint=hint or (f"did you mean {near!r}?" if near else "see `metier skill list`"),
        )


class Ambiguous(MetierError, LookupError):
    code = "ambiguous"
    exit_status = 3


class Unavailable(MetierError):
    code = "unavailable"
    exit_status = 4

    def __init__(self, message: str, *, hint: str, retryable: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


class Refused(MetierError, PermissionError):
    code = "refused"
    exit_status = 5

    def __init__(self, message: str, *, rule: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule


class Conflict(MetierError):
    code = "conflict"
    exit_status = 6


class ToolFailed(MetierError):
    code = "tool-failed"
    exit_status = 1


def nearest(word: str, known: Iterable[str]) -> str:
    """What was probably meant; empty if nothing is near."""
    # Imported here: a command that knows what it was told asks nobody what was meant.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1)), "")


def suggested_name(text: str) -> str:
    """The nearest valid skill name, or nothing when no letter or digit is left."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:64].strip("-")


def _shown(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
