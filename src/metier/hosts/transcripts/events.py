"""Events of a transcript, the same for every agent. Times are seconds since 1970; 0 if the record has none."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

__all__ = [
    "BadRecord",
    "FailedLoad",
    "LoadedBy",
    "ModelText",
    "SessionFacts",
    "SkillListing",
    "SkillLoad",
    "StepKind",
    "TokenCount",
    "ToolStep",
    "TranscriptEvent",
    "UserRequest",
]


class LoadedBy(StrEnum):
    MODEL = "model"
    """By the agent's tool for skills."""
    USER = "user"
    """By the user, who named it."""
    FILE = "file"
    """The model read its SKILL.md."""


class StepKind(StrEnum):
    COMMAND = "command"
    FILE = "file"
    """A file was written or edited."""


class SessionFacts(NamedTuple):
    """Empty fields are unknown; later facts of a session complete earlier ones."""

    id: str = ""
    folder: str = ""
    time: float = 0.0


class UserRequest(NamedTuple):
    time: float
    text: str


class SkillLoad(NamedTuple):
    time: float
    skill: str
    by: LoadedBy
    tokens: int
    """Estimated, of the instructions that the model received; 0 if the transcript does not hold them."""


class FailedLoad(NamedTuple):
    """The model asked for a skill, and the agent did not load it."""

    time: float
    skill: str
    error: str
    """The first line of what the agent answered."""


class SkillListing(NamedTuple):
    """The names of the skills that the agent showed its model."""

    names: tuple[str, ...]


class ToolStep(NamedTuple):
    time: float
    kind: StepKind
    text: str
    """The command, or the path of the file."""
    failed: bool = False


class ModelText(NamedTuple):
    time: float
    text: str


class TokenCount(NamedTuple):
    """Tokens of one request to the model, as the agent recorded them."""

    time: float
    input: int
    output: int


class BadRecord(NamedTuple):
    """A line or row that could not be read."""

    reason: str


TranscriptEvent = (
    SessionFacts | UserRequest | SkillLoad | FailedLoad | SkillListing | ToolStep | ModelText | TokenCount | BadRecord
)
