"""Skills for LiteLLM and all of its providers.

    skills = LiteLLMSkills("skills")
    answer = skills.completion(model="anthropic/claude-sonnet-5", messages=messages)    # as litellm.completion

LiteLLM answers in the chat completions format for every provider, so `chat_completions` does the work.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Literal, overload

from . import chat_completions as chat
from .skills import MissingSdkError, Skills, Source

try:
    import litellm
except ImportError:
    raise MissingSdkError("litellm") from None

if TYPE_CHECKING:
    from litellm import ModelResponse
    from litellm.types.utils import ModelResponseStream

# Any: requests are handed on as they are.

__all__ = ["LiteLLMSkills"]


class LiteLLMSkills:
    """One conversation. Several can share one `Skills(...)`, each with its own `conversation`.

    `via` can be a `litellm.Router`.
    """

    def __init__(self, *skills: Skills | Source, conversation: str = "", rounds: int = 50, via: Any = litellm) -> None:
        self.skills = Skills.of(*skills)
        self.conversation = conversation
        self.rounds = rounds
        """Requests that one call may make; in the last one the model must answer."""
        self._via = via

    @overload
    def completion(self, *, messages: list[Any], stream: Literal[False] = False, **request: Any) -> ModelResponse: ...
    @overload
    def completion(self, *, messages: list[Any], stream: Literal[True], **request: Any) -> Iterator[ModelResponseStream]: ...
    def completion(self, *, messages: list[Any], stream: bool = False, **request: Any) -> Any:
        """As `litellm.completion`. Calls of skills' tools and their answers are added to `messages`."""
        turn = self._turn(messages, stream, request)
        return (chat.stream if stream else chat.complete)(turn, self._via.completion)

    @overload
    async def acompletion(self, *, messages: list[Any], stream: Literal[False] = False, **request: Any) -> ModelResponse: ...
    @overload
    async def acompletion(
        self, *, messages: list[Any], stream: Literal[True], **request: Any
    ) -> AsyncIterator[ModelResponseStream]: ...
    async def acompletion(self, *, messages: list[Any], stream: bool = False, **request: Any) -> Any:
        """As `litellm.acompletion`."""
        turn = self._turn(messages, stream, request)
        return (
            chat.stream_async(turn, self._via.acompletion) if stream else await chat.complete_async(turn, self._via.acompletion)
        )

    def _turn(self, messages: list[Any], stream: bool, request: dict[str, Any]) -> chat.ChatTurn:
        given = {**request, "messages": messages, **({"stream": True} if stream else {})}
        return chat.ChatTurn(self.skills, self.conversation, given, rounds=self.rounds)
