"""Mistakes that a model can make and mend: told to it as an answer, never the end of a session."""

from __future__ import annotations

from metier.disclosure import escape_output
from metier.errors import MetierError, ToolFailedError

__all__ = ["BadArgumentsError", "NotActiveError", "OverBudgetError", "error_text"]


class BadArgumentsError(ToolFailedError, ValueError):
    code = "bad-arguments"
    exit_status = 2


class NotActiveError(ToolFailedError, LookupError):
    code = "not-active"
    exit_status = 3

    def __init__(self, name: str, *, active: tuple[str, ...]) -> None:
        there = f"active are: {', '.join(active)}" if active else "no skill is active"
        super().__init__(f"the skill {name!r} is not active", hint=f"call load_skill with its name first; {there}")


class OverBudgetError(ToolFailedError):
    code = "over-budget"
    exit_status = 5


def error_text(error: MetierError) -> str:
    """An error as a model reads it."""
    hint = f"\nHint: {error.hint}" if error.hint else ""
    # It may quote a file name or a skill's own words.
    return escape_output(f"Error ({error.code}): {error}{hint}")
