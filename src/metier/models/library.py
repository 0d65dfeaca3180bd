"""Every provider that pydantic-ai knows, through its direct API. It is imported by the first request and not before."""

from __future__ import annotations

import re
import threading
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from metier.errors import UsageError
from metier.runtime import Tool

from .choice import HOW_TO_SET_A_MODEL, ModelChoice
from .failures import FailureKind, ModelFailure, missing_extra, missing_key
from .query import Delta, ModelQuery
from .transcript import TranscriptMessage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.providers import Provider
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

__all__ = ["LibraryClient", "connect", "is_provider", "load_library", "read_failure"]

_NO_KEY = "none"
"""A local server needs no key, and the client library insists on one."""
_importing = threading.Lock()


class LibraryClient:
    """A model of pydantic-ai as a `ProviderClient`."""

    def __init__(self, model: Model, *, owned: bool) -> None:
        """`owned`: the model is closed with the client."""
        self._model = model
        self._owned = owned

    @property
    def provider(self) -> str:
        return self._model.system

    async def send(self, query: ModelQuery) -> TranscriptMessage:
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError

        try:
            response = await model_request(
                self._model, _to_library(query.messages), model_settings=_settings(query),
                model_request_parameters=self._parameters(query),
            )  # fmt: skip
        except AgentRunError as error:
            raise read_failure(error) from error
        return _from_library(response)

    async def stream(self, query: ModelQuery) -> AsyncGenerator[Delta | TranscriptMessage, None]:
        from pydantic_ai import messages as parts
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError

        opened = model_request_stream(
            self._model, _to_library(query.messages), model_settings=_settings(query),
            model_request_parameters=self._parameters(query),
        )  # fmt: skip
        try:
            async with opened as stream:
                async for event in stream:
                    match event:
                        case parts.PartStartEvent(part=parts.TextPart(content=text)) if text:
                            yield Delta(text)
                        case parts.PartDeltaEvent(delta=parts.TextPartDelta(content_delta=text)) if text:
                            yield Delta(text)
                        case parts.PartStartEvent(part=parts.ThinkingPart(content=text)) if text:
                            yield Delta(text, thinking=True)
                        case parts.PartDeltaEvent(delta=parts.ThinkingPartDelta(content_delta=str() as text)) if text:
                            yield Delta(text, thinking=True)
                response = stream.get()
        except AgentRunError as error:
            raise read_failure(error) from error
        yield _from_library(response)

    async def close(self) -> None:
        if self._owned:
            await self._model.__aexit__(None, None, None)

    def _parameters(self, query: ModelQuery) -> ModelRequestParameters:
        """Anthropic is given the parts of the prompt and which of them stay the same. Others get one text, because many servers
        accept only one system message."""
        from pydantic_ai.messages import InstructionPart
        from pydantic_ai.models import ModelRequestParameters

        if self.provider == "anthropic":
            given = [InstructionPart(content=each.text, dynamic=not each.fixed) for each in query.instructions]
        else:
            text = "\n\n".join(each.text for each in query.instructions)
            given = [InstructionPart(content=text)] if text else []
        return ModelRequestParameters(function_tools=_tool_definitions(query.tools), instruction_parts=given or None)


def load_library() -> None:
    """Imports pydantic-ai, one thread at a time: two imports at once see half-initialised modules and fail."""
    with _importing:
        try:
            import pydantic_ai.direct
            import pydantic_ai.messages  # noqa: F401
        except ImportError as error:
            raise missing_extra(error) from error


def connect(choice: ModelChoice) -> Model:
    """Returns pydantic-ai's model, for programs that share one between engines or use it themselves.

    UsageError for an unknown name or a missing key, UnavailableError for a missing package.
    """
    load_library()
    with _importing:
        return _connect(choice)


def is_provider(name: str) -> bool:
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(name)
    except ValueError:
        return False
    except ImportError:
        # It is one, and its package is not installed.
        return True
    return True


def read_failure(error: Exception) -> ModelFailure:
    """Translates an exception of pydantic-ai."""
    from pydantic_ai import exceptions

    kinds: dict[type[Exception], FailureKind] = {
        exceptions.ModelAuthenticationError: FailureKind.KEY,
        exceptions.ModelNotFoundError: FailureKind.MODEL,
        exceptions.ModelQuotaExceededError: FailureKind.QUOTA,
        exceptions.ModelContextWindowExceededError: FailureKind.CONTEXT,
        exceptions.ModelRateLimitError: FailureKind.RATE,
        exceptions.ModelConnectionError: FailureKind.CONNECTION,
        exceptions.ModelRequestRejectedError: FailureKind.REJECTED,
        exceptions.UnexpectedModelBehavior: FailureKind.UNREADABLE,
    }
    kind = next((kind for known, kind in kinds.items() if isinstance(error, known)), FailureKind.OTHER)
    temporary = None
    if kind is FailureKind.CONNECTION:
        # A refused connection, an unknown host name and a silent address stay so for the next seconds.
        temporary = not any(type(cause).__name__ in ("ConnectError", "ConnectTimeout") for cause in _causes(error))
    elif kind is FailureKind.OTHER:
        temporary = isinstance(error, exceptions.ModelAPIError)
    return ModelFailure(kind, _detail(error), retry_after=getattr(error, "retry_after", None), temporary=temporary)


def _settings(query: ModelQuery) -> ModelSettings:
    # `with_retries` waits, so the SDK must not. Providers ignore settings of others.
    settings: dict[str, Any] = {"max_retries": 0, "anthropic_cache": True}
    if query.seconds is not None:
        settings["timeout"] = query.seconds
    return settings  # type: ignore[return-value]  # a TypedDict of one provider


def _tool_definitions(tools: Sequence[Tool]) -> list[ToolDefinition]:
    from pydantic_ai.tools import ToolDefinition

    return [
        ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema)) for tool in tools
    ]


def _to_library(messages: Sequence[TranscriptMessage]) -> list[ModelMessage]:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return ModelMessagesTypeAdapter.validate_python([message.data() for message in messages])


def _from_library(response: ModelResponse) -> TranscriptMessage:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    (data,) = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return TranscriptMessage.of(data, cost=_cost(response))


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        # There is no price list for a model on the user's own server.
        return None


def _connect(choice: ModelChoice) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        if choice.base_url and not is_provider(choice.provider):
            return _compatible(choice, choice.name)
        if choice.base_url and choice.provider in ("openai", "openai-chat"):
            return _compatible(choice, choice.bare_name)
        return infer_model(choice.name, provider_factory=lambda name: _provider(name, choice))
    except ImportError as error:
        raise missing_extra(error) from error
    except (UserError, ValueError) as error:
        if variable := re.search(r"\b[A-Z][A-Z0-9_]*_API_KEY\b", str(error)):
            raise missing_key(choice.name, variable[0]) from error
        raise UsageError(f"{choice.name}: {str(error).partition(chr(10))[0]}", hint=HOW_TO_SET_A_MODEL) from error


def _compatible(choice: ModelChoice, name: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel

    return OpenAIChatModel(name, provider=_provider("openai-chat", choice))


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


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _detail(error: Exception) -> str:
    """The provider's own message if it sent one."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message or error)
