"""Skills for the OpenAI SDK: chat completions and responses, whole or streamed, with the sync or async client.

    skills = OpenAISkills("skills")
    answer = skills.chat(client, model="gpt-5", messages=messages)       # as client.chat.completions.create
    answer = skills.respond(client, model="gpt-5", input="Chart it.")    # as client.responses.create

The model has no file system here, so the catalog is in the instructions and activation is a tool. Calls of skills'
tools are answered in between; the result is the same as without skills: text, or calls of your own tools.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import TYPE_CHECKING, Any, Literal, overload

from . import chat_completions as chat
from . import responses
from .skills import MissingSdkError, Skills, Source

try:
    from openai import AsyncOpenAI
except ImportError:
    raise MissingSdkError("openai") from None

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.responses import Response, ResponseStreamEvent

# Any: requests are handed on as they are.

__all__ = ["OpenAISkills"]


class OpenAISkills:
    """One conversation. Several can share one `Skills(...)`, each with its own `conversation`."""

    def __init__(self, *skills: Skills | Source, conversation: str = "", rounds: int = 50) -> None:
        self.skills = Skills.of(*skills)
        self.conversation = conversation
        self.rounds = rounds
        """Requests that one call may make; in the last one the model must answer."""
        self._pending: list[Any] = []

    @overload
    def chat(
        self, client: OpenAI, *, messages: list[Any], stream: Literal[False] = False, **request: Any
    ) -> ChatCompletion: ...
    @overload
    def chat(
        self, client: OpenAI, *, messages: list[Any], stream: Literal[True], **request: Any
    ) -> Iterator[ChatCompletionChunk]: ...
    @overload
    def chat(
        self, client: AsyncOpenAI, *, messages: list[Any], stream: Literal[False] = False, **request: Any
    ) -> Awaitable[ChatCompletion]: ...
    @overload
    def chat(
        self, client: AsyncOpenAI, *, messages: list[Any], stream: Literal[True], **request: Any
    ) -> AsyncIterator[ChatCompletionChunk]: ...
    def chat(self, client: OpenAI | AsyncOpenAI, *, messages: list[Any], stream: bool = False, **request: Any) -> Any:
        """As `client.chat.completions.create`. Calls of skills' tools and their answers are added to `messages`."""
        given = {**request, "messages": messages, **({"stream": True} if stream else {})}
        turn = chat.ChatTurn(self.skills, self.conversation, given, rounds=self.rounds)
        create: Any = client.chat.completions.create
        if isinstance(client, AsyncOpenAI):
            return chat.stream_async(turn, create) if stream else chat.complete_async(turn, create)
        return chat.stream(turn, create) if stream else chat.complete(turn, create)

    @overload
    def respond(self, client: OpenAI, *, stream: Literal[False] = False, **request: Any) -> Response: ...
    @overload
    def respond(self, client: OpenAI, *, stream: Literal[True], **request: Any) -> Iterator[ResponseStreamEvent]: ...
    @overload
    def respond(self, client: AsyncOpenAI, *, stream: Literal[False] = False, **request: Any) -> Awaitable[Response]: ...
    @overload
    def respond(self, client: AsyncOpenAI, *, stream: Literal[True], **request: Any) -> AsyncIterator[ResponseStreamEvent]: ...
    def respond(self, client: OpenAI | AsyncOpenAI, *, stream: bool = False, **request: Any) -> Any:
        """As `client.responses.create`. An `input` that is a list grows by what was said to skills on the way, unless the
        server keeps the conversation (`previous_response_id`, `conversation`)."""
        given = {**request, **({"stream": True} if stream else {})}
        turn = responses.ResponseTurn(self.skills, self.conversation, given, self._pending, rounds=self.rounds)
        create: Any = client.responses.create
        if isinstance(client, AsyncOpenAI):
            return responses.stream_async(turn, create) if stream else responses.complete_async(turn, create)
        return responses.stream(turn, create) if stream else responses.complete(turn, create)
