"""A model that can be asked: whole answers for evals and judges, streams for the engine.

pydantic-ai speaks the providers' protocols. It is imported by the first request and not before.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from metier.errors import UsageError
from metier.runtime import Tool

from .choice import HOW_TO_SET_A_MODEL, ModelChoice, likely_provider
from .failures import RetryPolicy, explain_failure, missing_extra, with_retries
from .messages import ChatMessage, ChatRole, Message, ModelReply, ToolCall

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ToolCallPart
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

__all__ = ["ChatModel", "ModelClient", "connect", "load_client", "read_tool_call", "tool_definitions"]

_SECONDS = 120.0
_NO_KEY = "none"
"""A local server needs no key, and the client library insists on one."""
_importing = threading.Lock()


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
        self._model: Model | None = None
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
        """As the client library names it once connected; empty before, for a name without one."""
        if self._model is not None:
            return self._model.system
        return self._choice.provider if isinstance(self._choice, ModelChoice) else self._choice.system

    async def connect(self) -> Model:
        """Returns pydantic-ai's model. UsageError for an unknown name or a missing key; sends no request."""
        async with self._connecting:
            if self._model is None:
                if isinstance(self._choice, ModelChoice):
                    # Importing a provider's client takes half a second, and must not hold up the loop.
                    self._model = await (await asyncio.to_thread(connect, self._choice)).__aenter__()
                else:
                    self._model = self._choice
            return self._model

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> ModelReply:
        """Returns the whole answer. Temporary failures are retried; the last one is raised as UnavailableError."""
        model = await self.connect()
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.models import ModelRequestParameters

        sent = list(_to_library(messages))
        parameters = ModelRequestParameters(function_tools=tool_definitions(tools))

        async def request() -> ModelResponse:
            return await model_request(model, sent, model_settings=self._settings(), model_request_parameters=parameters)

        try:
            response = await with_retries(request, self.retry, name=self.name)
        except AgentRunError as error:
            raise explain_failure(error, self.name) from error
        return ModelReply(
            text=response.text or "", calls=tuple(map(read_tool_call, response.tool_calls)),
            tokens=response.usage.input_tokens + response.usage.output_tokens, response=response,
        )  # fmt: skip

    @asynccontextmanager
    async def stream(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> AsyncIterator[StreamedResponse]:
        """One attempt, in the library's own values. The caller retries, because part of the answer may be shown already."""
        model = await self.connect()
        from pydantic_ai.direct import model_request_stream

        opened = model_request_stream(model, messages, model_settings=self._settings(), model_request_parameters=parameters)
        async with opened as stream:
            yield stream

    async def close(self) -> None:
        model, self._model = self._model, None
        if model is not None and model is not self._choice:
            await model.__aexit__(None, None, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _settings(self) -> ModelSettings:
        # `with_retries` waits, so the SDK must not. Providers ignore settings of others.
        settings: dict[str, Any] = {"max_retries": 0, "anthropic_cache": True}
        if self._seconds is not None:
            settings["timeout"] = self._seconds
        return settings  # type: ignore[return-value]  # a TypedDict of one provider


def load_client() -> None:
    """Imports pydantic-ai, one thread at a time: two imports at once see half-initialised modules and fail."""
    with _importing:
        try:
            import pydantic_ai.direct
            import pydantic_ai.messages  # noqa: F401
        except ImportError as error:
            raise missing_extra(error) from error


def connect(choice: ModelChoice) -> Model:
    """Returns pydantic-ai's model. UsageError for an unknown name or a missing key, UnavailableError for a missing package."""
    load_client()
    with _importing:
        return _connect(choice)


def read_tool_call(part: ToolCallPart) -> ToolCall:
    arguments = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
    return ToolCall(id=part.tool_call_id, tool=part.tool_name, arguments=arguments)


def tool_definitions(tools: Sequence[Tool]) -> list[ToolDefinition]:
    from pydantic_ai.tools import ToolDefinition

    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema)) for tool in tools
    ]


def _connect(choice: ModelChoice) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if not choice.provider and not choice.base_url:
        raise UsageError(
            f"the model name {choice.name!r} has no provider",
            hint=f"write {likely_provider(choice.name)}:{choice.name}, or set model.base_url",
        )
    try:
        if choice.base_url and choice.provider in ("openai", "openai-chat"):
            # Nearly every compatible server supports chat completions, and few the responses API.
            return _compatible(choice, choice.bare_name)
        if choice.base_url and not _is_provider(choice.provider):
            return _compatible(choice, choice.name)
        return infer_model(choice.name, provider_factory=lambda name: _provider(name, choice))
    except ImportError as error:
        raise missing_extra(error) from error
    except (UserError, ValueError) as error:
        if variable := re.search(r"\b[A-Z][A-Z0-9_]*_API_KEY\b", str(error)):
            hint = f"set {variable[0]}, or name another variable with model.key_variable"
            raise UsageError(f"{choice.name} needs an API key", hint=hint) from error
        raise UsageError(f"{choice.name}: {str(error).partition(chr(10))[0]}", hint=HOW_TO_SET_A_MODEL) from error


def _compatible(choice: ModelChoice, name: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel

    return OpenAIChatModel(name, provider=_provider("openai-chat", choice))


def _is_provider(name: str) -> bool:
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(name)
    except ValueError:
        return False
    return True


def _provider(name: str, choice: ModelChoice) -> Provider[Any]:  # Any: the SDK's own client
    from pydantic_ai.providers import infer_provider, infer_provider_class

    if not choice.key and not choice.base_url:
        return infer_provider(name)
    given: dict[str, str] = {}
    if choice.base_url:
        given["api_base" if name == "litellm" else "base_url"] = choice.base_url
    if choice.key or name in ("openai-chat", "openai", "litellm", "openai-responses"):
        given["api_key"] = choice.key or _NO_KEY
    return infer_provider_class(name)(**given)


def _to_library(messages: Sequence[Message]) -> Iterator[ModelMessage]:
    """Merges all messages between two answers into one request to the library."""
    from pydantic_ai.messages import ModelRequest

    parts: list[ModelRequestPart] = []
    for message in messages:
        if isinstance(message, ChatMessage):
            parts.append(_part(message))
            continue
        if parts:
            yield ModelRequest(parts=parts)
            parts = []
        if message.response is not None:
            yield message.response
    if parts:
        yield ModelRequest(parts=parts)


def _part(message: ChatMessage) -> ModelRequestPart:
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart

    if message.role is ChatRole.SYSTEM:
        return SystemPromptPart(content=message.text)
    if message.call is not None:
        return ToolReturnPart(tool_name=message.call.tool, content=message.text, tool_call_id=message.call.id)
    return UserPromptPart(content=message.text)
