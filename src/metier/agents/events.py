"""What a turn tells while it runs, beside the events of the runtime (a skill activated, a script started, …).

All are plain values with a time and the conversation's id; a consumer matches on their types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from metier.runtime import Event
from metier.selection import Selection

from .prompt import Prompt

__all__ = [
    "AnswerText",
    "Event",
    "HistoryCompacted",
    "ModelRetried",
    "ModelUsage",
    "PromptBuilt",
    "SkillsSelected",
    "ThinkingText",
    "ToolCallFinished",
    "ToolCallStarted",
    "TurnFinished",
    "TurnStarted",
    "TurnStatus",
    "WarningIssued",
]  # fmt: skip


class TurnStatus(StrEnum):
    """How a turn ended."""

    DONE = "done"
    LIMITED = "limited"
    """A limit stopped it: steps, tokens. The reason says which."""
    STOPPED = "stopped"
    """The user did."""
    FAILED = "failed"
    """The model could not be reached, or answered with what nobody can use."""
    PREVIEW = "preview"
    """There is no model: everything up to asking one was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What the model was asked for, by one turn or several."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input, those that the provider had already."""
    calls: int = 0
    """Of tools."""
    cost: float | None = None
    """In US dollars, where prices are known."""

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
class SkillsSelected(Event):
    """Which skills fit the message, and which nearly did: every match has its score and its reason."""

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
    """A piece of what the model thinks aloud, where it does."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStarted(Event):
    id: str
    tool: str
    arguments: str
    """As the model wrote them; not always JSON."""
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
    """How the script was isolated, where one ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetried(Event):
    """The model is asked again; whatever text came since the last tool is void."""

    attempt: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCompacted(Event):
    """Earlier turns were taken out of what the model is sent. They are still kept, and can be searched."""

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
    ending: TurnStatus = TurnStatus.DONE
    reason: str = ""
    """Why it ended, when not because the model was done; a sentence for the user."""
    hint: str = ""
    spent: ModelUsage = field(default_factory=ModelUsage)
    active: tuple[str, ...] = ()
    """Skills that are active after it."""
