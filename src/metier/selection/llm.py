"""`LlmSelector`: a language model chooses from the shortlist of the local selector.

The answer is parsed strictly: names from the shortlist, separated by commas, or "none". After any other answer (prose, an
unknown name, an exception of the model client) the local selection is returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from metier.values import replace

from .match import Match, MatchDecision, Selection, SelectorOptions

__all__ = ["LlmSelector", "LocalSelector", "TextModel", "parse_names", "selection_prompt"]

_SHORTLIST = 30
"""Skills shown to the model: the right one is rarely missing, and the prompt stays short."""
_CHOSEN = 0.9


class TextModel(Protocol):
    def __call__(self, prompt: str) -> str:
        """Returns the model's whole answer; may raise any exception."""


class LocalSelector(Protocol):
    """A selector without a model, such as `Selector`."""

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection: ...


class LlmSelector:
    def __init__(self, local: LocalSelector, model: TextModel, *, options: SelectorOptions | None = None) -> None:
        self._local = local
        self._model = model
        self._options = options or SelectorOptions()

    def select(self, query: str, limit: int | None = None, *, recent: Iterable[str] = ()) -> Selection:
        ids = tuple(recent)
        fallback = self._local.select(query, limit, recent=ids)
        shortlist = self._local.select(query, _SHORTLIST, recent=ids).selected
        most = self._options.max_skills if limit is None else limit
        if not shortlist or most < 1:
            return fallback
        try:
            answer = self._model(selection_prompt(query, shortlist))
        except Exception:  # the caller's model client may raise anything
            return fallback
        offered: dict[str, Match] = {}
        for match in shortlist:
            offered.setdefault(match.name, match)
        names = parse_names(answer, offered)
        if names is None:
            return fallback
        chosen = [_choose(offered[name]) for name in names[:most]]
        taken = {match.id for match in chosen}
        rest = tuple(match for match in shortlist if match.id not in taken)
        rejected = rest[: self._options.rejected]
        return Selection(selected=tuple(chosen), rejected=rejected, considered=fallback.considered)


def selection_prompt(query: str, matches: Iterable[Match]) -> str:
    """Puts each description on one line, so that none can pose as another entry."""
    catalog = "\n".join(f"- {_one_line(match.name)}: {_one_line(match.skill.description)}" for match in matches)
    return (
        f'Available skills:\n{catalog}\n\nUser query: "{_one_line(query)}"\n\n'
        'Which skills are relevant? Return comma-separated names or "none".\n'
    )


def parse_names(answer: object, offered: Iterable[str]) -> list[str] | None:
    """Returns the chosen names without duplicates; None if the answer has another form."""
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


def _choose(match: Match) -> Match:
    return replace(
        match,
        fit=max(match.fit, _CHOSEN),
        confidence=max(match.confidence, _CHOSEN),
        decision=MatchDecision.ACTIVATE,
        find_reason=lambda: f"chosen by the model; {match.reason}",
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
