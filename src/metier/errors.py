"""The errors that metier raises, as one tree.

The branches say who or what can resolve an error:

    MetierError
    ├── InvalidSkillError      the skill's author; holds the Report with every problem
    ├── InvalidNameError       the person who chose the name
    ├── ConfigError            the author of a configuration file; names file and line
    ├── UsageError             the person who typed the command
    ├── NotFoundError          the user named something that does not exist
    │   └── SkillNotFoundError
    ├── AmbiguousError         the user named several things at once
    ├── UnavailableError       a service that is down: the same call may succeed later (never a NotFoundError)
    ├── RefusedError           a policy said no; names the rule
    ├── ConflictError          a name is taken, or a file has changed
    └── ToolFailedError        sent to the model as a tool result; never ends a session

`code` is for programs and never changes, `hint` is for people, `exit_status` is the exit status of the command line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metier.spec import Report

__all__ = [
    "AmbiguousError",
    "ConfigError",
    "ConflictError",
    "InvalidNameError",
    "InvalidSkillError",
    "MetierError",
    "NotFoundError",
    "RefusedError",
    "SkillNotFoundError",
    "ToolFailedError",
    "UnavailableError",
    "UsageError",
]


class MetierError(Exception):
    """The base class of all errors of metier."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class InvalidSkillError(MetierError):
    code = "invalid-skill"
    exit_status = 1

    def __init__(self, message: str, *, report: Report, hint: str = "") -> None:
        super().__init__(message, hint=hint or "see `metier skill validate` for every problem and its place")
        self.report = report


class UsageError(MetierError):
    code = "usage"
    exit_status = 2


class InvalidNameError(MetierError, ValueError):
    code = "bad-name"
    exit_status = 2

    def __init__(self, name: str) -> None:
        slug = suggested_name(name)
        super().__init__(
            f"{_shown(name)} is not a skill name",
            hint=f"try {slug!r}" if slug else "use a-z, 0-9 and single hyphens, 64 characters at most",
        )


class ConfigError(MetierError, ValueError):
    code = "bad-config"
    exit_status = 2

    def __init__(self, message: str, *, file: str, line: int | None = None, hint: str) -> None:
        super().__init__(f"{file}:{line}: {message}" if line else f"{file}: {message}", hint=hint)
        self.file = file
        self.line = line


class NotFoundError(MetierError, LookupError):
    code = "not-found"
    exit_status = 3


class SkillNotFoundError(NotFoundError):
    code = "skill-not-found"

    def __init__(self, name: str, *, known: Iterable[str] = (), hint: str = "") -> None:
        near = nearest(name, known)
        super().__init__(
            f"no skill is named {_shown(name)}",
            hint=hint or (f"did you mean {near!r}?" if near else "see `metier skill list`"),
        )


class AmbiguousError(MetierError, LookupError):
    code = "ambiguous"
    exit_status = 3


class UnavailableError(MetierError):
    code = "unavailable"
    exit_status = 4

    def __init__(self, message: str, *, hint: str, retryable: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


class RefusedError(MetierError, PermissionError):
    code = "refused"
    exit_status = 5

    def __init__(self, message: str, *, rule: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule


class ConflictError(MetierError):
    code = "conflict"
    exit_status = 6


class ToolFailedError(MetierError):
    code = "tool-failed"
    exit_status = 1


def nearest(word: str, known: Iterable[str]) -> str:
    """Returns the most similar known word; empty if none is similar."""
    # Imported here: difflib is needed only for a message.
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1)), "")


def suggested_name(text: str) -> str:
    """Returns a valid skill name close to the text; empty if it has no letter or digit."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:64].strip("-")


def _shown(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
