"""Recall from outside the index: candidates that a registry offers, ranked by the local networks.

The registry is sent the most telling words of a request and never the request itself. Its texts are those of any publisher:
they are ranked as data, and every place that shows them escapes them like those of installed skills.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from metier.values import dataclass

from .match import Match
from .query import read_query
from .trained_data import TrainedData

__all__ = ["AvailableSkill", "Recall", "install_command", "search_words"]

_MOST_WORDS = 6
"""A search that drops one word after the other until it finds enough stays cheap up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailableSkill:
    """A skill that is not installed."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    version: str = ""
    origin: str = ""
    """Name or address of the registry that offers it."""
    install: str = ""
    """The command that installs it."""


class Recall(Protocol):
    """Finds candidates for a request outside the index, such as `metier.registry.RegistryRecall`."""

    def __call__(self, words: str, limit: int, /) -> Sequence[AvailableSkill]:
        """Returns skills with some of these words, at most `limit`. Raises MetierError if it cannot search."""


def install_command(match: Match) -> str:
    """Returns the command that installs the skill of a match; empty for one that is installed."""
    return match.skill.install if isinstance(match.skill, AvailableSkill) else ""


def search_words(request: str, trained: TrainedData) -> str:
    """Returns the rarest words of a request in their order; in English if it is in another language."""
    query = read_query(request)
    if query.own_words:
        query = read_query(query.text)
    rarity = trained.rarity(trained.places(query.hashes)) * query.weights
    rarest = sorted(np.argsort(-rarity, kind="stable")[:_MOST_WORDS].tolist())
    return " ".join(dict.fromkeys(query.written[place] for place in rarest))
