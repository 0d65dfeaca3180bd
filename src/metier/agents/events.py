"""Events of a turn, beside those of the runtime (a skill was activated, a script started, …).

All are plain values with a time and the conversation's id; a consumer matches on their types. They inherit from the
runtime's `Event`, so they are dataclasses of the standard library.
"""

from __future__ import annotations

from enum import StrEnum

from metier.runtime import Event
from metier.selection import Selection
from metier.values import dataclass, field

from .prompt import Prompt

__all__ = [
    "AnswerText",
    "Event",
    "HistoryCompacted",
    "ModelRetried",
    "ModelUsage",
    "PromptBuilt",
    "SkillsMatched",
    "ThinkingText",
    "ToolCallFinished",
    "ToolCallStarted",
    "TurnFinished",
    "TurnStarted",
    "TurnStatus",
    "WarningIssued",
]  # fmt: skip


class TurnStatus(StrEnum):
    """The way a turn ended."""

    DONE = "done"
    LIMITED = "limited"
    """A limit of steps or tokens ended it; the reason names it."""
    STOPPED = "stopped"
    """The user stopped it."""
    FAILED = "failed"
    """The model could not be reached, or its answer could not be read."""
    PREVIEW = "preview"
    """No model is set: the prompt was built and not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """Requests, tokens and cost of one turn or several."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of the input that came from the provider's cache."""
    calls: int = 0
    """Tool calls."""
    cost: float | None = None
    """In US dollars; None if the price is unknown."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: ModelUsage) -> ModelUsage:
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return ModelUsage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            calls=self.calls + other.calls,
            cost=sum(known) if known else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsMatched(Event):
    """The skills that fit the message and those that nearly do, each with score and reason."""

    selection: Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBuilt(Event):
    prompt: Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerText(Event):
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingText(Event):
    """A piece of the model's visible reasoning."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted(Event):
    id: str
    tool: str
    arguments: str
    """As the model wrote them; not always valid JSON."""
    skill: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallFinished(Event):
    id: str
    tool: str
    text: str
    ok: bool = True
    code: str = ""
    duration: float = 0.0
    level: str = ""
    """The isolation of the script, if one ran."""
    summary: str = ""
    """The result in a few words: `exit code 0, 1,204 bytes`. Empty for tools that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetried(Event):
    """The request is sent again; text since the last tool call is void."""

    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted(Event):
    """Earlier turns are no longer sent to the model. They stay stored and searchable."""

    turns: int
    before: int
    after: int
    """Tokens of the history."""
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningIssued(Event):
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(Event):
    answer: str
    status: TurnStatus = TurnStatus.DONE
    reason: str = ""
    """For the user, if the turn did not end with an answer."""
    hint: str = ""
    retryable: bool = False
    """The same request may succeed later."""
    usage: ModelUsage = field(default_factory=ModelUsage)
    active: tuple[str, ...] = ()
    """The skills that are active after the turn."""
