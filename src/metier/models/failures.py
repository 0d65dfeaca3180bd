"""Failures of a model: which are worth another try, how long to wait, and the sentence for the user."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from metier.errors import UnavailableError
from metier.extras import MissingExtraError
from metier.values import dataclass

from .choice import HOW_TO_SET_A_MODEL

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

__all__ = ["OnRetry", "RetryPolicy", "Sleep", "explain_failure", "is_temporary", "missing_extra", "with_retries"]

Sleep = Callable[[float], Awaitable[None]]
OnRetry = Callable[[int, float, str], None]
"""Called before each wait with the number of the failed attempt, the seconds and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    retries: int = 3
    first_wait: float = 0.5
    """Seconds before the first retry. Each further wait is twice as long, or as long as the provider asks for."""
    longest_wait: float = 60.0
    """A provider that asks for more is not asked again."""
    sleep: Sleep = asyncio.sleep

    def wait_after(self, attempt: int, error: Exception) -> float | None:
        """Returns the seconds to wait after a failed attempt; None if another one is of no use."""
        requested = getattr(error, "retry_after", None)
        if attempt > self.retries or not is_temporary(error) or (requested or 0) > self.longest_wait:
            return None
        if requested is not None:
            return float(requested)
        # Jitter, so that a hundred sessions that were rejected together do not return together.
        jitter = random.uniform(0.8, 1.2)  # noqa: S311
        return min(self.longest_wait, self.first_wait * float(2 ** (attempt - 1)) * jitter)


async def with_retries(
    request: Callable[[], Awaitable[ModelResponse]], policy: RetryPolicy, *, name: str, on_retry: OnRetry | None = None
) -> ModelResponse:
    """Repeats a request while its failures are temporary. An empty response is requested once more."""
    from pydantic_ai.exceptions import AgentRunError

    attempt = 0
    while True:
        attempt += 1
        try:
            response = await request()
            if response.parts or attempt > min(1, policy.retries):
                return response
            wait, reason = 0.0, f"{name} returned an empty answer"
        except AgentRunError as error:
            delay = policy.wait_after(attempt, error)
            if delay is None:
                raise
            wait, reason = delay, str(explain_failure(error, name))
        if on_retry is not None:
            on_retry(attempt, wait, reason)
        await policy.sleep(wait)


def is_temporary(error: Exception) -> bool:
    """Returns True if the same request may succeed a little later."""
    from pydantic_ai import exceptions

    if isinstance(error, exceptions.ModelRequestRejectedError | exceptions.ModelQuotaExceededError):
        return False
    if isinstance(error, exceptions.ModelConnectionError):
        # A refused connection, an unknown host name and a silent address stay so for the next seconds.
        return not any(type(cause).__name__ in ("ConnectError", "ConnectTimeout") for cause in _causes(error))
    return isinstance(error, exceptions.ModelAPIError | exceptions.UnexpectedModelBehavior)


def explain_failure(error: Exception, name: str) -> UnavailableError:
    """Translates an exception of pydantic-ai into one sentence and a hint."""
    from pydantic_ai import exceptions

    detail = _detail(error)
    match error:
        case exceptions.ModelAuthenticationError():
            message, hint, retryable = f"{name} rejected the API key", "check model.key_variable and the key in it", False
        case exceptions.ModelNotFoundError():
            message, hint, retryable = f"unknown model {name}", HOW_TO_SET_A_MODEL, False
        case exceptions.ModelQuotaExceededError():
            message, hint, retryable = f"{name}: quota exceeded", "check your account at the provider", False
        case exceptions.ModelContextWindowExceededError():
            message, hint, retryable = f"the conversation is too long for {name}", "lower engine.context_tokens", False
        case exceptions.ModelRateLimitError():
            message, hint, retryable = f"{name}: rate limit reached", "try again in a minute", True
        case exceptions.ModelConnectionError():
            message, hint, retryable = f"cannot reach {name}", "check the network and model.base_url", True
        case exceptions.ModelRequestRejectedError():
            message, hint, retryable = f"{name} rejected the request", "check model.name and model.base_url", False
        case exceptions.UnexpectedModelBehavior():
            message, hint, retryable = f"unreadable answer from {name}", "check model.base_url; it usually ends with /v1", True
        case _:
            message, hint, retryable = f"{name} failed", "try again later", True
    return UnavailableError(f"{message}: {detail}", hint=hint, retryable=retryable)


def missing_extra(error: ImportError, extra: str = "models") -> UnavailableError:
    package = (error.name or str(error)).partition(".")[0]
    return MissingExtraError(f"the Python package {package!r} is not installed", extra=extra)


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _detail(error: Exception) -> str:
    """The provider's own message if it sent one, on one line."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    text = " ".join(str(message or error).split())
    return text if len(text) <= 300 else text[:299] + "…"
