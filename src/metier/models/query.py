"""One request to a model, and the protocol of the clients that send it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from metier.runtime import Tool
from metier.values import dataclass

from .transcript import TranscriptMessage

__all__ = ["Delta", "Instruction", "ModelQuery", "ProviderClient"]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A part of the system prompt."""

    text: str
    fixed: bool = True
    """The same in the next request, so that the provider may cache it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuery:
    messages: Sequence[TranscriptMessage]
    instructions: Sequence[Instruction] = ()
    tools: Sequence[Tool] = ()
    seconds: float | None = None
    """The time limit; None is the provider's default."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer that is being written."""

    text: str
    thinking: bool = False


class ProviderClient(Protocol):
    """Speaks a provider's protocol. Every failure is a `ModelFailure`."""

    @property
    def provider(self) -> str: ...

    async def send(self, query: ModelQuery) -> TranscriptMessage:
        """Returns the whole answer."""

    def stream(self, query: ModelQuery) -> AsyncGenerator[Delta | TranscriptMessage, None]:
        """Yields the answer in pieces, and at last as a message."""

    async def close(self) -> None: ...
