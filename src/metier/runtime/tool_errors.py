"""Errors that a model can correct: it gets them as the reply of a tool, and the session continues."""

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
        known = f"active skills: {', '.join(active)}" if active else "no skill is active"
        super().__init__(f"skill {name!r} is not active", hint=f"call load_skill with its name first; {known}")


class OverBudgetError(ToolFailedError):
    code = "over-budget"
    exit_status = 5


def error_text(error: MetierError) -> str:
    """Returns an error as a model reads it."""
    hint = f"\nHint: {error.hint}" if error.hint else ""
    # It may quote a file name or text of a skill.
    return escape_output(f"Error ({error.code}): {error}{hint}")
