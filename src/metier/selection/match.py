"""The result of a selection: the matching skills, each with its scores and a reason; and the options of the selector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

from metier.values import dataclass, field

from .index_document import SelectableSkill

__all__ = ["Match", "MatchDecision", "ScoreShare", "Selection", "SelectorOptions"]


class MatchDecision(StrEnum):
    """Recommendation for one skill: load it, mention it, or ignore it."""

    ACTIVATE = "activate"
    SUGGEST = "suggest"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class ScoreShare:
    """The part of one signal in a score, for `--explain`. Shares may be negative and add up to about the whole."""

    signal: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    skill: SelectableSkill
    score: float
    """0 to 1; orders the matches of one request."""
    fit: float
    """0 to 1; probability that it fits the request, whatever other skills exist. Decides; two skills may both fit."""
    confidence: float
    """0 to 1; calibrated: of the matches with 0.4, about four in ten are the intended skill (table in docs/selection.md)."""
    decision: MatchDecision
    find_reason: Callable[[], str] = field(repr=False, compare=False)
    """Called on demand, because few reasons are read."""
    find_shares: Callable[[], tuple[ScoreShare, ...]] = field(default=tuple, repr=False, compare=False)
    """Called on demand."""

    @property
    def reason(self) -> str:
        """For users, such as `keyword 'invoice'; description: 'fill PDF forms'`."""
        return self.find_reason()

    @property
    def shares(self) -> tuple[ScoreShare, ...]:
        """The share of each group of signals in the score."""
        return self.find_shares()

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
    """The next best, which were not selected."""
    considered: int = 0
    """Number of skills that were searched."""
    note: str = ""
    """For the user, if the skills could not be chosen as configured."""
    available: tuple[Match, ...] = ()
    """Skills that are not installed, from `Selector.recall`, best first; the `skill` of each is an `AvailableSkill`."""

    def __iter__(self) -> Iterator[Match]:
        return iter(self.selected)

    def __len__(self) -> int:
        return len(self.selected)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorOptions:
    """Choices of the caller; learned weights are in `trained_data`."""

    max_skills: int = 3
    """Maximum number of activated skills if the caller sets no limit."""
    candidates: int = 80
    """Candidates from the word index that are scored in full."""
    further: int = 400
    """Further results, ranked by words alone, if the caller asks for more than `candidates`."""
    activate: float = 0.5
    """Minimum fit to load a skill; docs/abstention.svg shows the cost of other values."""
    suggest: float = 0.25
    """Minimum fit to mention a skill."""
    similarity: float = 4.0
    """Log-odds that a sentence model adds at three standard deviations; values between 3 and 6 make no difference."""
    keyword: float = 0.6
    """Probability that one trigger keyword alone is right."""
    verb: float = 1.8
    """Log-odds added by a trigger verb; a verb alone never activates a skill."""
    phrase: float = 0.85
    """Probability for a trigger keyword of several words that is found whole."""
    pattern: float = 0.7
    """Probability for a trigger pattern."""
    recent: float = 0.7
    """Log-odds added to the skill used last in this session; about half for those used before it."""
    rejected: int = 3
    """Number of rejected matches in the result."""
    library_size: int = 0
    """Rank as in a library of at least this many skills, for candidates that were taken from one."""
    always_recall: bool = False
    """Look for skills that are not installed even if an installed one is to be activated."""
