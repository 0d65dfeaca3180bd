"""A model that can be asked: whole answers for evals and judges, streams for the engine.

OpenAI, Anthropic and servers with the chat completions API are asked by our own client, every other provider through
pydantic-ai. Both are imported by the first request and not before.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from metier.errors import UsageError
from metier.extras import MissingExtraError
from metier.runtime import Tool
from metier.values import replace

from .choice import PROVIDERS, ModelChoice, likely_provider
from .failures import ModelFailure, RetryPolicy, explain_failure, missing_key, with_retries
from .messages import ChatMessage, ChatRole, Message, ModelReply, ToolCall
from .query import Delta, ModelQuery, ProviderClient
from .transcript import MessagePart, PartKind, TranscriptMessage

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["ChatModel", "ModelClient", "load_client", "read_tool_call"]

_SECONDS = 120.0
_COMPATIBLE = ("openai", "openai-chat", "ollama", "litellm")
"""Providers whose server has the chat completions API. Few compatible servers have OpenAI's responses API."""
_OWN_SERVERS = {
    **dict.fromkeys(("openai", "openai-chat", "openai-responses"), "https://api.openai.com/v1"),
    "anthropic": "https://api.anthropic.com",
}
_LIBRARY_VARIABLES = {
    **dict.fromkeys(("openai", "openai-chat", "openai-responses"), ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")),
    "anthropic": ("ANTHROPIC_CUSTOM_HEADERS",),
}
"""Settings of the providers' own clients, which know best what they mean."""


class ChatModel(Protocol):
    """A model, as evals and judges see it. `ModelClient` is one."""

    @property
    def name(self) -> str: ...

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> ModelReply:
        """One answer. UnavailableError if there is none."""


class ModelClient:
    """Asks one model. Use it with `async with`: it holds a pool of connections, opened by the first request."""

    def __init__(
        self, model: ModelChoice | Model, *, retry: RetryPolicy | None = None, seconds: float | None = _SECONDS
    ) -> None:
        """`seconds` limits one request. A `Model` of pydantic-ai stays its owner's to close."""
        self.retry = retry or RetryPolicy()
        self._choice = model
        self._seconds = seconds
        self._provider: ProviderClient | None = None
        self._connecting = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._choice.name if isinstance(self._choice, ModelChoice) else self._choice.model_name

    @property
    def bare_name(self) -> str:
        """Without the provider."""
        return self._choice.bare_name if isinstance(self._choice, ModelChoice) else self._choice.model_name

    @property
    def provider(self) -> str:
        """As the provider's client names it once connected; empty before, for a name without one."""
        if self._provider is not None:
            return self._provider.provider
        return self._choice.provider if isinstance(self._choice, ModelChoice) else self._choice.system

    async def connect(self) -> ProviderClient:
        """UsageError for an unknown name or a missing key; sends no request."""
        async with self._connecting:
            if self._provider is None:
                self._provider = await _connect(self._choice)
            return self._provider

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> ModelReply:
        """Returns the whole answer. Temporary failures are retried; the last one is raised as UnavailableError."""
        provider = await self.connect()
        query = ModelQuery(messages=tuple(_to_transcript(messages)), tools=tools, seconds=self._seconds)
        try:
            response = await with_retries(lambda: provider.send(query), self.retry, name=self.name)
        except ModelFailure as failure:
            raise explain_failure(failure, self.name) from failure
        return ModelReply(
            text=response.text, calls=tuple(map(read_tool_call, response.calls)),
            tokens=response.input_tokens + response.output_tokens, response=response,
        )  # fmt: skip

    async def stream(self, query: ModelQuery) -> AsyncGenerator[Delta | TranscriptMessage, None]:
        """One attempt: the pieces of the answer, then the whole. The caller retries, because a part may be shown already."""
        provider = await self.connect()
        pieces = provider.stream(replace(query, seconds=query.seconds or self._seconds))
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def load_client(choice: ModelChoice) -> None:
    """Imports the client that asks this model, so that the first request need not."""
    if _uses_library(choice):
        from .library import load_library

        load_library()
    else:
        import httpx2  # noqa: F401

        _connect_over_http(choice)


def read_tool_call(part: MessagePart) -> ToolCall:
    return ToolCall(id=part.call_id, tool=part.tool, arguments=part.arguments or "{}")


async def _connect(choice: ModelChoice | Model) -> ProviderClient:
    if not isinstance(choice, ModelChoice):
        from .library import LibraryClient

        return LibraryClient(choice, owned=False)
    if not choice.provider and not choice.base_url:
        raise UsageError(
            f"the model name {choice.name!r} has no provider",
            hint=f"write {likely_provider(choice.name)}:{choice.name}, or set model.base_url",
        )
    if not _uses_library(choice):
        return await asyncio.to_thread(_connect_over_http, choice)
    from .library import LibraryClient, connect

    try:
        # Importing a provider's client takes half a second, and must not hold up the loop.
        model = await asyncio.to_thread(connect, choice)
    except MissingExtraError:
        if choice.provider not in _OWN_SERVERS or choice.key:
            raise
        raise missing_key(choice.name, PROVIDERS[choice.provider].key_variable) from None
    return LibraryClient(await model.__aenter__(), owned=True)


def _uses_library(choice: ModelChoice) -> bool:
    if choice.provider == "anthropic" or not choice.base_url:
        # Without a key in the settings, the library looks for one in more places.
        has_own_settings = any(map(os.environ.get, _LIBRARY_VARIABLES.get(choice.provider, ())))
        return choice.provider not in _OWN_SERVERS or not choice.key or has_own_settings
    return choice.provider not in (*_COMPATIBLE, "openai-responses") and _is_provider(choice.provider)


def _connect_over_http(choice: ModelChoice) -> ProviderClient:
    from .http_client import HttpModelClient, WireFormat

    address = (choice.base_url or _OWN_SERVERS[choice.provider]).rstrip("/")
    wire: WireFormat
    if choice.provider == "anthropic":
        from .anthropic_messages import AnthropicMessages

        # The path has the version, and people copy addresses with it.
        address, wire = address.removesuffix("/v1"), AnthropicMessages(choice.bare_name, key=choice.key)
    elif choice.provider == "openai-responses" or (choice.provider == "openai" and not choice.base_url):
        from .openai_responses import OpenAiResponses

        wire = OpenAiResponses(choice.bare_name, key=choice.key, address=address)
    else:
        from .chat_completions import ChatCompletionsFormat

        model = choice.bare_name if choice.provider in _COMPATIBLE else choice.name
        provider = choice.provider if choice.provider in ("ollama", "litellm") else "openai"
        wire = ChatCompletionsFormat(model, key=choice.key, provider=provider)
    return HttpModelClient(address, wire)


def _is_provider(name: str) -> bool:
    """Returns False for a name without a provider, and for one like `qwen:7b`, which belongs to the server."""
    if not name:
        return False
    from .library import is_provider, load_library

    load_library()
    return is_provider(name)


def _to_transcript(messages: Sequence[Message]) -> Iterator[TranscriptMessage]:
    """Merges all messages between two answers into one."""
    parts: list[MessagePart] = []
    for message in messages:
        if isinstance(message, ChatMessage):
            parts.append(_part(message))
            continue
        if parts:
            yield TranscriptMessage(parts=tuple(parts))
            parts = []
        if message.response is not None:
            yield message.response
    if parts:
        yield TranscriptMessage(parts=tuple(parts))


def _part(message: ChatMessage) -> MessagePart:
    if message.role is ChatRole.SYSTEM:
        return MessagePart(kind=PartKind.SYSTEM, content=message.text)
    if message.call is not None:
        return MessagePart(kind=PartKind.TOOL_RETURN, tool=message.call.tool, content=message.text, call_id=message.call.id)
    return MessagePart(kind=PartKind.USER, content=message.text)
