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
    "connection_problem",
]


class MetierError(Exception):
    """The base class of all errors of metier."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1
    retryable = False
    """The same call may succeed later."""

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
    """Returns the known word that was probably meant: a typo or two away, or the only one that starts so; else empty."""
    lower, names = word.lower(), list(known)
    # A second typo is believed only in a long word: `init` is not a misspelt `lint`.
    limit = 1 if len(lower) < 5 else 2
    ranked = sorted((_edits(lower, each.lower()), each) for each in names if abs(len(each) - len(lower)) <= limit)
    if ranked and ranked[0][0] <= limit:
        return ranked[0][1]
    longer = [each for each in names if len(lower) > 2 and each.lower().startswith(lower)]
    return longer[0] if len(longer) == 1 else ""


def plural(number: int, noun: str) -> str:
    """Returns "1 skill" or "2,000 skills"."""
    if number == 1:
        return f"1 {noun}"
    ending = "ies" if re.search(r"[^aeiou]y$", noun) else "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{number:,} {noun.removesuffix('y') if ending == 'ies' else noun}{ending}"


def suggested_name(text: str) -> str:
    """Returns a valid skill name close to the text; empty if it has no letter or digit."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:64].strip("-")


def _edits(left: str, right: str) -> int:
    """Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into the other."""
    older: list[int] = []
    above = list(range(len(right) + 1))
    for i, char in enumerate(left):
        row = [i + 1]
        for j, other in enumerate(right):
            cost = min(above[j + 1] + 1, row[j] + 1, above[j] + (char != other))
            if i and j and char == right[j - 1] and other == left[i - 1]:
                cost = min(cost, older[j - 1] + 1)
            row.append(cost)
        older, above = above, row
    return above[-1]


def _shown(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def connection_problem(error: BaseException) -> str:
    """Returns the reason why a connection failed, in one line and without Python's number of it."""
    lines = str(error).strip().splitlines()
    return re.sub(r"^\[Errno -?\d+\] ", "", lines[0]) if lines else type(error).__name__
