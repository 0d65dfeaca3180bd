"""Problems and reports, shared by validate, lint and scan.

A problem does not stop the search: reports hold all problems, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from metier.values import dataclass

__all__ = ["Problem", "Report", "Severity"]


class Severity(StrEnum):
    ERROR = "error"
    """The skill is not valid."""
    WARNING = "warning"
    """It works here, but not in every client."""
    INFO = "info"

    @property
    def rank(self) -> int:
        return ("info", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    code: str
    """Never changes; `metier skill explain CODE` documents it."""
    severity: Severity
    message: str
    hint: str = ""
    file: str = "SKILL.md"
    """Relative to the skill's folder, with forward slashes."""
    line: int | None = None
    column: int | None = None
    """Both count from 1; None if the problem is about the whole file."""

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
        # An empty report is good news, so `if report` would be ambiguous.
        raise TypeError("use Report.ok or Report.problems")

    def __add__(self, other: Report) -> Report:
        return Report.of((*self.problems, *other.problems))
