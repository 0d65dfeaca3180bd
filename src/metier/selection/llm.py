"""Let a model choose from the local ranker's shortlist, and do without it when it fails.

The answer is parsed strictly: names that were offered, separated by commas, or "none".
Anything else (prose, an unknown name, an exception from the stranger's code) means that the local answer stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from .match import Match, MatchDecision, Selection
from .weights import SelectorOptions

__all__ = ["LlmSelector", "LocalSelector", "TextModel", "parse_names", "selection_prompt"]

_SHORTLIST = 30
"""Skills shown to the model: enough that a right one is seldom missing, few enough for a short prompt."""
_CHOSEN = 0.9


class TextModel(Protocol):
    def __call__(self, prompt: str) -> str:
        """The model's whole answer; may raise anything."""


class LocalSelector(Protocol):
    """The local ranker; `Selector` is ours."""

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection: ...


class LlmSelector:
    def __init__(self, local: LocalSelector, model: TextModel, *, weights: SelectorOptions | None = None) -> None:
        self._local = local
        self._model = model
        self._weights = weights or SelectorOptions()

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        ids = tuple(recent)
        fallback = self._local.select(query, limit, recent=ids)
        shortlist = self._local.select(query, _SHORTLIST, recent=ids).selected
        most = self._weights.max_skills if limit is None else limit
        if not shortlist or most < 1:
            return fallback
        try:
            answer = self._model(selection_prompt(query, shortlist))
        except Exception:  # a stranger's model client: whatever it raises, the user still gets an answer
            return fallback
        offered: dict[str, Match] = {}
        for match in shortlist:
            offered.setdefault(match.name, match)
        names = parse_names(answer, offered)
        if names is None:
            return fallback
        chosen = [_chosen(offered[name]) for name in names[:most]]
        taken = {match.id for match in chosen}
        rest = tuple(match for match in shortlist if match.id not in taken)
        rejected = rest[: self._weights.rejected]
        return Selection(selected=tuple(chosen), rejected=rejected, considered=fallback.considered)


def selection_prompt(query: str, matches: Iterable[Match]) -> str:
    """What is asked. Descriptions are put on one line each, so that none can pose as another entry."""
    catalog = "\n".join(f"- {_one_line(match.name)}: {_one_line(match.skill.description)}" for match in matches)
    return (
        f'Available skills:\n{catalog}\n\nUser query: "{_one_line(query)}"\n\n'
        'Which skills are relevant? Return comma-separated names or "none".\n'
    )


def parse_names(answer: object, offered: Iterable[str]) -> list[str] | None:
    """The names chosen, without doubles; None when the answer is not what was asked for."""
    if not isinstance(answer, str):
        return None
    text = answer.strip().strip(".").strip()
    if text.lower().strip("\"'") == "none":
        return []
    known = set(offered)
    names = [part.strip().strip("\"'`") for part in text.split(",")]
    if not all(name in known for name in names):
        return None
    return list(dict.fromkeys(names))


def _chosen(match: Match) -> Match:
    return replace(
        match,
        fit=max(match.fit, _CHOSEN),
        confidence=max(match.confidence, _CHOSEN),
        decision=MatchDecision.ACTIVATE,
        told=lambda: f"chosen by the model; {match.reason}",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
