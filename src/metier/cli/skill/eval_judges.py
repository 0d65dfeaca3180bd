"""The trigger judge of the command line: the local ranker, or a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.app import App
from metier.catalog import Entry
from metier.evals.model_judge import ModelTriggerJudge, NamedDescription
from metier.evals.ranker_judge import RankerTriggerJudge
from metier.evals.triggers import TriggerJudge
from metier.models import ChatModel
from metier.selection import Selector

__all__ = ["judge_of"]

_SHOWN = 40
"""A model is shown this many skills for a request: all if there are fewer, else the best of the ranker."""


def judge_of(app: App, selector: Selector, entry: Entry, model: ChatModel | None) -> Callable[[str], TriggerJudge]:
    """Returns a function that makes the judge of a skill for a given description."""

    def by_ranker(description: str) -> TriggerJudge:
        return RankerTriggerJudge(selector, entry, description=None if description == entry.description else description)

    def by_model(description: str) -> TriggerJudge:
        assert model is not None  # noqa: S101
        return ModelTriggerJudge(model, (entry.name, description), nearby)

    def nearby(query: str) -> Sequence[NamedDescription]:
        usable = [(each.name, each.description) for each in app.catalog if each.is_for_models]
        if len(usable) <= _SHOWN:
            return usable
        return [(match.name, match.skill.description) for match in selector.select(query, _SHOWN).selected]

    return by_model if model else by_ranker
