"""Skills for LiteLLM, so for every provider that it speaks to.

    skills = LiteLLMSkills("skills")
    answer = skills.completion(model="anthropic/claude-sonnet-5", messages=messages)    # as litellm.completion

LiteLLM answers in OpenAI's formats whatever the provider, so all that is decided is decided in `chat`.
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
    """One conversation. `Skills(...)` can be shared by many, each with its own name for `conversation`.

    `via` is a `litellm.Router`, where there is one.
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
        """As `litellm.completion`. `messages` grows by what was said to skills on the way."""
        turn = self._turn(messages, stream, request)
        return (chat.streamed if stream else chat.whole)(turn, self._via.completion)

    @overload
    async def acompletion(self, *, messages: list[Any], stream: Literal[False] = False, **request: Any) -> ModelResponse: ...
    @overload
    async def acompletion(
        self, *, messages: list[Any], stream: Literal[True], **request: Any
    ) -> AsyncIterator[ModelResponseStream]: ...
    async def acompletion(self, *, messages: list[Any], stream: bool = False, **request: Any) -> Any:
        """As `litellm.acompletion`."""
        turn = self._turn(messages, stream, request)
        return chat.astreamed(turn, self._via.acompletion) if stream else await chat.awhole(turn, self._via.acompletion)

    def _turn(self, messages: list[Any], stream: bool, request: dict[str, Any]) -> chat.ChatTurn:
        given = {**request, "messages": messages, **({"stream": True} if stream else {})}
        return chat.ChatTurn(self.skills, self.conversation, given, rounds=self.rounds)
