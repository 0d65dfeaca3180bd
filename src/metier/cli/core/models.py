"""The model of an option or of the user's settings, for evals and for the judge of the scan."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from metier.app import App
from metier.errors import UsageError
from metier.models import HOW_TO_SET_A_MODEL, ChatModel, ModelChoice, ModelClient

from .progress import progress

if TYPE_CHECKING:
    from metier.app import JudgeCase
    from metier.scan import ScanReport

__all__ = ["judge_reports", "required_model", "run_with_model"]

T = TypeVar("T")


def required_model(app: App, name: str | None = None, *, purpose: str) -> ModelChoice:
    """Returns the model of that name or of the settings. UsageError if neither names one."""
    model = app.conversations.model(name)
    if model is None:
        raise UsageError(f"{purpose} needs a model", hint=HOW_TO_SET_A_MODEL)
    return model


def run_with_model(choice: ModelChoice | None, call: Callable[[ChatModel | None], Awaitable[T]]) -> T:
    """Runs `call` with a client of the chosen model, or with None."""

    async def run() -> T:
        if choice is None:
            return await call(None)
        async with ModelClient(choice) as model:
            return await call(model)

    return asyncio.run(run())


def judge_reports(app: App, cases: Sequence[JudgeCase], name: str | None) -> tuple[list[ScanReport], tuple[str, ...]]:
    """Adds a model's findings to the reports. Returns them with a note for each that the model did not judge."""
    from metier.app import ModelJudge

    try:
        choice = required_model(app, name, purpose="--judge")
    except UsageError as error:
        note = f"no model judged the skills: {error}; the result is from the rules alone. Hint: {error.hint}"
        return [case.report for case in cases], (note,)

    async def judge() -> tuple[list[ScanReport], tuple[str, ...]]:
        with progress("asking", len(cases)) as advance:
            async with ModelClient(choice) as model:
                judging = ModelJudge(model=model, choice=choice, cache=app.installation.cache)
                return await judging(cases, advance), tuple(judging.notes)

    return asyncio.run(judge())
