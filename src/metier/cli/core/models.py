"""The model that evals and the judge of the scan ask: the one of an option, or of the user's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metier.app import App
from metier.errors import MetierError, UsageError
from metier.evals.chat import Endpoint, HttpChat, endpoint

from .progress import progress

if TYPE_CHECKING:
    from metier.app.model_judge import JudgeCase
    from metier.scan import ScanReport

__all__ = ["judged", "model_of"]


def model_of(app: App, name: str | None = None, *, offline: bool = False, needed_by: str = "") -> Endpoint | None:
    """That model, or the one of the user's own settings; a project's file has no say in where requests and keys go."""
    settings = app.user_settings
    chosen = name or settings.path("model.name")
    if offline or not chosen:
        if needed_by:
            raise UsageError(f"{needed_by} a model", hint="`metier config set model.name openai:NAME`; see docs/evals.md")
        return None
    # A model that names its provider is not asked at the settings' server; a bare name belongs to a server.
    base_url = (settings.path("model.base_url") or "") if not name or ":" not in name else ""
    return endpoint(
        chosen, base_url=base_url, key_variable=settings.path("model.key_variable") or "", environment=app.environment
    )


def judged(app: App, cases: Sequence[JudgeCase], name: str | None) -> tuple[list[ScanReport], tuple[str, ...]]:
    """The reports with a model's findings, and what there is to say about those without."""
    from metier.app.model_judge import ModelJudge

    try:
        model = model_of(app, name, needed_by="--judge needs")
        assert model is not None  # noqa: S101 - it is needed
    except MetierError as error:
        return [case.report for case in cases], (f"no model judged: {error}; the rules' answer stands. {error.hint}",)

    async def ask() -> tuple[list[ScanReport], tuple[str, ...]]:
        with progress("asking", len(cases)) as told:
            async with HttpChat(model) as chat:
                judging = ModelJudge(chat=chat, where=model, cache=app.installation.cache)
                return await judging(cases, told), tuple(judging.notes)

    return asyncio.run(ask())
