"""One way to say that something is wrong with a skill, shared by validate, lint and scan.

A problem never stops the search for the next one: reports hold all that was found, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from metier.values import dataclass

__all__ = ["Problem", "Report", "Severity"]


class Severity(StrEnum):
    ERROR = "error"
    """The verdict is no."""
    WARNING = "warning"
    """It works here, and will bite somewhere."""
    INFO = "info"

    @property
    def rank(self) -> int:
        return ("info", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    code: str
    """Stable for ever; `metier skill explain CODE` documents it."""
    severity: Severity
    message: str
    hint: str = ""
    file: str = "SKILL.md"
    """Relative to the skill's folder, with forward slashes."""
    line: int | None = None
    column: int | None = None
    """Both count from 1; absent when the problem is about the file as a whole."""

    @property
    def where(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)

    @property
    def order(self) -> tuple[str, int, int, str]:
        return (self.file, self.line or 0, self.column or 0, self.code)


@dataclass(frozen=True, slots=True)
class Report:
    """All problems of one skill, in the order of its files and lines."""

    problems: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> Report:
        return cls(tuple(sorted(problems, key=lambda problem: problem.order)))

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.WARNING)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __bool__(self) -> bool:
        # An empty report is good news, not an absent one: never let `if report` decide anything.
        raise TypeError("ask a Report for .ok or .problems")

    def __add__(self, other: Report) -> Report:
        return Report.of((*self.problems, *other.problems))
