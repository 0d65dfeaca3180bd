"""From a name in the settings to something that can be asked, and from its errors to sentences.

pydantic-ai knows the providers; it is imported here, when the first model is asked for, and nowhere before.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metier.errors import MetierError, UnavailableError, UsageError

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

__all__ = ["HOW_TO_SET_A_MODEL", "ModelChoice", "connect", "explained", "is_temporary", "load_client", "missing_extra"]

HOW_TO_SET_A_MODEL = "set a model with `metier config set model.name openai:NAME` (or anthropic:NAME, ollama:NAME, …)"
_RESPONSES = "openai-responses"
_IMPORTING = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """Which model, where, and the key for it."""

    name: str
    """`openai:gpt-5`, `anthropic:…`, `ollama:…`, as pydantic-ai names them; with `base_url` also a bare name."""
    base_url: str = ""
    """A server that is asked instead of the provider's own; OpenAI-compatible unless the name says another provider."""
    key: str = field(default="", repr=False)
    """Empty: where the provider's own client looks for it."""

    @property
    def provider(self) -> str:
        prefix, colon, _ = self.name.partition(":")
        return prefix if colon else ""

    @property
    def bare(self) -> str:
        return self.name.partition(":")[2] if self.provider else self.name


def missing_extra(error: ImportError) -> UnavailableError:
    return UnavailableError(
        f"asking a model needs a package that is not here: {error.name or error}",
        hint="install it with `pip install 'metier[agents]'`",
        retryable=False,
    )


def load_client() -> None:
    """Import pydantic-ai, one thread at a time: two that begin at once find each other's half of it, and fail."""
    with _IMPORTING:
        try:
            import pydantic_ai.direct
            import pydantic_ai.messages  # noqa: F401
        except ImportError as error:
            raise missing_extra(error) from error


def connect(choice: ModelChoice) -> Model:
    """UsageError for a name that nobody knows, Unavailable for a package or a key that is missing. Asks nobody yet."""
    load_client()
    with _IMPORTING:
        return _connected(choice)


def _connected(choice: ModelChoice) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if not choice.provider and not choice.base_url:
        raise UsageError(
            f"{choice.name!r} does not say whose model it is",
            hint="write openai:NAME, anthropic:NAME, ollama:NAME, or set model.base_url",
        )
    try:
        if choice.base_url and choice.provider in ("", "openai", "openai-chat"):
            # Nearly every compatible server speaks chat completions, and few the responses API.
            from pydantic_ai.models.openai import OpenAIChatModel

            return OpenAIChatModel(choice.bare, provider=_provider("openai-chat", choice))
        return infer_model(choice.name, provider_factory=lambda name: _provider(name, choice))
    except ImportError as error:
        raise missing_extra(error) from error
    except (UserError, ValueError) as error:
        if variable := re.search(r"\b[A-Z][A-Z0-9_]*_API_KEY\b", str(error)):
            hint = f"put it into {variable[0]}, or name another variable with model.key_variable"
            raise UsageError(f"{choice.name} needs a key", hint=hint) from error
        raise UsageError(f"{choice.name}: {str(error).partition(chr(10))[0]}", hint=HOW_TO_SET_A_MODEL) from error


def _provider(name: str, choice: ModelChoice) -> Provider[Any]:  # Any: the SDK's own client, whichever it is
    from pydantic_ai.providers import infer_provider, infer_provider_class

    if not choice.key and not choice.base_url:
        return infer_provider(name)
    given: dict[str, str] = {}
    if choice.base_url:
        given["api_base" if name == "litellm" else "base_url"] = choice.base_url
    if choice.key or name in ("openai-chat", "openai", "litellm", _RESPONSES):
        # A local server wants no key, and the client insists on one.
        given["api_key"] = choice.key or "none"
    return infer_provider_class(name)(**given)


def is_temporary(error: Exception) -> bool:
    """May the same request succeed a little later?"""
    from pydantic_ai import exceptions

    permanent = (exceptions.ModelRequestRejectedError, exceptions.ModelQuotaExceededError)
    if isinstance(error, exceptions.ModelAPIError):
        return not isinstance(error, permanent)
    return isinstance(error, exceptions.UnexpectedModelBehavior)


def explained(error: Exception, choice: str) -> MetierError:
    """What went wrong with a model, in one sentence, with what to do."""
    from pydantic_ai import exceptions

    said = _said(error)
    match error:
        case exceptions.ModelAuthenticationError():
            return UnavailableError(
                f"{choice} did not accept the key: {said}", hint="check model.key_variable and the key in it", retryable=False
            )
        case exceptions.ModelNotFoundError():
            return UnavailableError(f"there is no model {choice}: {said}", hint=HOW_TO_SET_A_MODEL, retryable=False)
        case exceptions.ModelQuotaExceededError():
            return UnavailableError(
                f"{choice} is out of credit: {said}", hint="look at your account with the provider", retryable=False
            )
        case exceptions.ModelContextWindowExceededError():
            return UnavailableError(
                f"the conversation no longer fits {choice}: {said}", hint="lower engine.context_tokens", retryable=False
            )
        case exceptions.ModelRateLimitError():
            return UnavailableError(f"{choice} asks us to wait: {said}", hint="try again in a minute")
        case exceptions.ModelConnectionError():
            return UnavailableError(f"{choice} cannot be reached: {said}", hint="check the network and model.base_url")
        case exceptions.ModelRequestRejectedError():
            return UnavailableError(f"{choice} rejected the request: {said}", hint="see what it says about it", retryable=False)
    return UnavailableError(f"{choice} failed: {said}", hint="try again")  # fmt: skip


def _said(error: Exception) -> str:
    """The provider's own words where it sent some, on one line."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    text = " ".join(str(message or error).split())
    return text if len(text) <= 300 else text[:299] + "…"
