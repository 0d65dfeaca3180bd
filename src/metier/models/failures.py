"""Failures of a model: which are worth another try, how long to wait, and the sentence for the user."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from enum import StrEnum

from metier.errors import UnavailableError, UsageError
from metier.extras import MissingExtraError
from metier.values import dataclass

from .choice import HOW_TO_SET_A_MODEL
from .transcript import TranscriptMessage

__all__ = [
    "FailureKind", "ModelFailure", "OnRetry", "RetryPolicy", "Sleep", "explain_failure", "missing_extra",
    "missing_key", "with_retries",
]  # fmt: skip

Sleep = Callable[[float], Awaitable[None]]
OnRetry = Callable[[int, float, str], None]
"""Called before each wait with the number of the failed attempt, the seconds and the reason."""


class FailureKind(StrEnum):
    KEY = "key"
    MODEL = "model"
    QUOTA = "quota"
    CONTEXT = "context"
    """The conversation is too long for the model."""
    RATE = "rate"
    CONNECTION = "connection"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    OTHER = "other"


_TEMPORARY = frozenset({FailureKind.RATE, FailureKind.CONNECTION, FailureKind.UNREADABLE, FailureKind.OTHER})


class ModelFailure(Exception):  # noqa: N818  (an answer of the provider, not a mistake)
    """A request that was not answered. `detail` is the provider's own message, if it sent one."""

    def __init__(
        self, kind: FailureKind, detail: str, *, retry_after: float | None = None, temporary: bool | None = None
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.temporary = kind in _TEMPORARY if temporary is None else temporary
        """The same request may succeed a little later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    retries: int = 3
    first_wait: float = 0.5
    """Seconds before the first retry. Each further wait is twice as long, or as long as the provider asks for."""
    longest_wait: float = 60.0
    """A provider that asks for more is not asked again."""
    sleep: Sleep = asyncio.sleep

    def wait_after(self, attempt: int, failure: ModelFailure) -> float | None:
        """Returns the seconds to wait after a failed attempt; None if another one is of no use."""
        requested = failure.retry_after
        if attempt > self.retries or not failure.temporary or (requested or 0) > self.longest_wait:
            return None
        if requested is not None:
            return requested
        # Jitter, so that a hundred sessions that were rejected together do not return together.
        jitter = random.uniform(0.8, 1.2)  # noqa: S311
        return min(self.longest_wait, self.first_wait * float(2 ** (attempt - 1)) * jitter)


async def with_retries(
    request: Callable[[], Awaitable[TranscriptMessage]], policy: RetryPolicy, *, name: str, on_retry: OnRetry | None = None
) -> TranscriptMessage:
    """Repeats a request while its failures are temporary. An empty response is requested once more."""
    attempt = 0
    while True:
        attempt += 1
        try:
            response = await request()
            if response.parts or attempt > min(1, policy.retries):
                return response
            wait, reason = 0.0, f"{name} returned an empty answer"
        except ModelFailure as failure:
            delay = policy.wait_after(attempt, failure)
            if delay is None:
                raise
            wait, reason = delay, str(explain_failure(failure, name))
        if on_retry is not None:
            on_retry(attempt, wait, reason)
        await policy.sleep(wait)


def explain_failure(failure: ModelFailure, name: str) -> UnavailableError:
    """Translates a failure into one sentence and a hint."""
    text = " ".join(failure.detail.split())
    detail = text if len(text) <= 300 else text[:299] + "…"
    message, hint, retryable = _SENTENCES[failure.kind]
    return UnavailableError(f"{message.format(name)}: {detail}", hint=hint, retryable=retryable)


_SENTENCES = {
    FailureKind.KEY: ("{} rejected the API key", "check model.key_variable and the key in it", False),
    FailureKind.MODEL: ("unknown model {}", HOW_TO_SET_A_MODEL, False),
    FailureKind.QUOTA: ("{}: quota exceeded", "check your account at the provider", False),
    FailureKind.CONTEXT: ("the conversation is too long for {}", "lower engine.context_tokens", False),
    FailureKind.RATE: ("{}: rate limit reached", "try again in a minute", True),
    FailureKind.CONNECTION: ("cannot reach {}", "check the network and model.base_url", True),
    FailureKind.REJECTED: ("{} rejected the request", "check model.name and model.base_url", False),
    FailureKind.UNREADABLE: ("unreadable answer from {}", "check model.base_url; it usually ends with /v1", True),
    FailureKind.OTHER: ("{} failed", "try again later", True),
}


def missing_extra(error: ImportError, extra: str = "models") -> UnavailableError:
    package = (error.name or str(error)).partition(".")[0]
    return MissingExtraError(f"the Python package {package!r} is not installed", extra=extra)


def missing_key(name: str, variable: str) -> UsageError:
    return UsageError(f"{name} needs an API key", hint=f"set {variable}, or name another variable with model.key_variable")
