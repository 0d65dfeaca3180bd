"""The local ranker as a trigger judge: it ranks the skill among all installed ones, deterministically and without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metier.catalog import Entry
from metier.selection import Match, MatchDecision, Selector, split_words, word_terms
from metier.sources import IndexedSkill

from .triggers import JudgeChoice

__all__ = ["RankerTriggerJudge", "RedescribedSkill", "selector_with"]

_LOOKED_AT = 10
_MOST_WORDS = 4


class RedescribedSkill(IndexedSkill):
    """A skill with another description."""

    __slots__ = ("text",)

    def __init__(self, entry: Entry, description: str) -> None:
        super().__init__(entry)
        self.text = description

    @property
    def description(self) -> str:
        return self.text

    @property
    def digest(self) -> str:
        return f"{super().digest}:{self.text}"


def selector_with(selector: Selector, subjects: Iterable[Entry], installed: Iterable[Entry]) -> Selector:
    """Adds these skills to the selector, in place of installed ones with the same names."""
    wanted = {entry.name: entry for entry in subjects}
    for rival in installed:
        if rival.name in wanted and rival.folder != wanted[rival.name].folder and rival.folder in selector:
            selector.remove(rival.folder)
    for entry in wanted.values():
        if entry.folder not in selector:
            selector.add(IndexedSkill(entry))
    return selector


class RankerTriggerJudge:
    """Selects like `metier skill select`."""

    name = "local ranker"
    deterministic = True

    def __init__(self, selector: Selector, entry: Entry, *, description: str | None = None) -> None:
        self._selector = selector
        self._entry = entry
        self._description = entry.description if description is None else description
        if description is not None:
            selector.change(RedescribedSkill(entry, description))

    async def __call__(self, query: str) -> JudgeChoice:
        picked = self._selector.select(query).selected
        triggered = any(match.id == self._entry.folder for match in picked)
        looked_at = self._selector.select(query, _LOOKED_AT).selected
        own = next((match for match in looked_at if match.id == self._entry.folder), None)
        first = picked[0] if picked else None
        return JudgeChoice(
            triggered=triggered,
            winner=first.name if first else "",
            why=f"{first.confidence:.0%} sure: {first.reason}" if first else self._why_none(looked_at),
            own=self._own(own, looked_at, () if triggered else self._missing_words(query)),
        )

    def _why_none(self, looked_at: tuple[Match, ...]) -> str:
        if not looked_at or looked_at[0].decision is MatchDecision.NOTHING:
            return "no skill is similar"
        best = looked_at[0]
        return f"the best match is {best.name} with a fit of {best.fit:.0%}; {self._selector.options.activate:.0%} is required"

    def _own(self, own: Match | None, looked_at: tuple[Match, ...], missing: Sequence[str]) -> str:
        lacks = f"; its description lacks {', '.join(map(repr, missing))}" if missing else ""
        if own is None:
            return f"not among the first {_LOOKED_AT}{lacks}"
        return f"place {looked_at.index(own) + 1}, {own.confidence:.0%} sure: {own.reason}{lacks}"

    def _missing_words(self, query: str) -> list[str]:
        """Words of the request that neither the name nor the description has."""
        known = {term for word in split_words(f"{self._entry.name} {self._description}") for term in word_terms(word)}
        missing = {
            word.lower(): None for word in split_words(query) if len(word) > 2 and not known.intersection(word_terms(word))
        }
        return [word for word in missing if word_terms(word)][:_MOST_WORDS]
