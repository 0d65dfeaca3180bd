"""The choice of a trigger judge: a model if there is one, else the local ranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metier.catalog import Catalog, Entry
from metier.models import ChatModel
from metier.selection import Selector

from .model_judge import ModelTriggerJudge, NamedDescription
from .ranker_judge import RankerTriggerJudge
from .triggers import TriggerJudge

__all__ = ["judge_factory"]

_MAX_SHOWN = 40
"""A model is shown this many skills for a request: all if there are fewer, else the best of the ranker."""


def judge_factory(
    entry: Entry, *, catalog: Catalog, selector: Selector, model: ChatModel | None = None
) -> Callable[[str], TriggerJudge]:
    """Returns a function that makes the judge of a skill for a given description."""

    def nearby(query: str) -> Sequence[NamedDescription]:
        usable = [(each.name, each.description) for each in catalog if each.is_for_models]
        if len(usable) <= _MAX_SHOWN:
            return usable
        return [(match.name, match.skill.description) for match in selector.select(query, _MAX_SHOWN).selected]

    if model is not None:
        return lambda description: ModelTriggerJudge(model, (entry.name, description), nearby)
    return lambda description: RankerTriggerJudge(
        selector, entry, description=None if description == entry.description else description
    )  # fmt: skip
