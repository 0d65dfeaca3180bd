"""Who judges triggers on the command line: the local ranker, or a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.app import App
from metier.catalog import Entry
from metier.evals.chat import Chat
from metier.evals.model_judge import ModelTriggerJudge, NamedDescription
from metier.evals.ranker_judge import RankerTriggerJudge
from metier.evals.triggers import TriggerJudge
from metier.selection import Selector

__all__ = ["judge_of"]

_SHOWN = 40
"""Skills in the catalog that a model is shown for a request: all where there are few, else the ranker's best."""


def judge_of(app: App, selector: Selector, entry: Entry, chat: Chat | None) -> Callable[[str], TriggerJudge]:
    """The judge of a skill, for whatever description it may be given."""

    def by_ranker(description: str) -> TriggerJudge:
        return RankerTriggerJudge(selector, entry, description=None if description == entry.description else description)

    def by_model(description: str) -> TriggerJudge:
        assert chat is not None  # noqa: S101
        return ModelTriggerJudge(chat, (entry.name, description), near)

    def near(query: str) -> Sequence[NamedDescription]:
        usable = [(each.name, each.description) for each in app.catalog if each.is_for_models]
        if len(usable) <= _SHOWN:
            return usable
        return [(match.name, match.skill.description) for match in selector.select(query, _SHOWN).selected]

    return by_model if chat else by_ranker
