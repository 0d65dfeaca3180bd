"""The answer to a request: which skills, how sure we are, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from .index_document import SelectableSkill

__all__ = ["Match", "MatchDecision", "ScoreShare", "Selection"]


class MatchDecision(StrEnum):
    """What to do with a skill: load it, mention it, or leave it alone."""

    ACTIVATE = "activate"
    SUGGEST = "suggest"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """One signal's part in a score, for `--explain`; shares may be negative and add up to about the whole."""

    signal: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    skill: SelectableSkill
    score: float
    """0 to 1; orders the matches of one request."""
    fit: float
    """0 to 1; does it fit the request, whatever else there is? Decides; two skills may both fit, a near miss does not."""
    confidence: float
    """0 to 1; calibrated: of matches given 0.4, about four in ten were the one meant (docs/selection.md has the table)."""
    decision: MatchDecision
    told: Callable[[], str] = field(repr=False, compare=False)
    """Finds the reason, which is read for few of the matches."""
    explained: Callable[[], tuple[ScoreShare, ...]] = field(default=tuple, repr=False, compare=False)
    """Finds the shares; few callers ask."""

    @property
    def reason(self) -> str:
        """For people: `keyword 'invoice'; description: 'fill PDF forms'`."""
        return self.told()

    @property
    def shares(self) -> tuple[ScoreShare, ...]:
        """What each group of signals gave."""
        return self.explained()

    @property
    def id(self) -> str:
        return self.skill.id

    @property
    def name(self) -> str:
        return self.skill.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    selected: tuple[Match, ...] = ()
    rejected: tuple[Match, ...] = ()
    """The next best, which were not taken."""
    considered: int = 0
    """Skills that were searched."""

    def __iter__(self) -> Iterator[Match]:
        return iter(self.selected)

    def __len__(self) -> int:
        return len(self.selected)
