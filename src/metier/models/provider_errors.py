"""Errors as providers send them: the body of a refused request, or an event inside a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from .failures import FailureKind, ModelFailure

__all__ = ["read_error", "read_refusal"]

_CODE_KINDS = {
    **dict.fromkeys(
        ("insufficient_quota", "billing_hard_limit_reached", "credit_balance_exhausted", "billing_error"), FailureKind.QUOTA
    ),
    **dict.fromkeys(("429", "rate_limit_exceeded", "rate_limit_error"), FailureKind.RATE),
    **dict.fromkeys(("invalid_api_key", "authentication_error", "permission_error"), FailureKind.KEY),
    **dict.fromkeys(("invalid_prompt", "bio_policy", "misalignment_policy_violation"), FailureKind.REJECTED),
    "context_length_exceeded": FailureKind.CONTEXT,
    "model_not_found": FailureKind.MODEL,
}
"""By `code` or `type` of the error. Types that come with several statuses are left out."""
_STATUS_KINDS = {
    400: FailureKind.REJECTED, 401: FailureKind.KEY, 402: FailureKind.QUOTA, 403: FailureKind.KEY, 404: FailureKind.MODEL,
    413: FailureKind.CONTEXT, 422: FailureKind.REJECTED, 429: FailureKind.RATE,
}  # fmt: skip
_MESSAGES = (
    (re.compile(r"maximum context length|reduce the length of the messages|exceeds? the (?:available )?context|"
                r"prompt is too long", re.IGNORECASE), FailureKind.CONTEXT),
    (re.compile(r"credit balance is too low", re.IGNORECASE), FailureKind.QUOTA),
)  # fmt: skip
"""Some servers say so in the message of a rejected request only."""


def read_refusal(status: int, headers: Mapping[str, str], text: str) -> ModelFailure:
    """Reads an answer with an error status: the provider's own message, and how long it asks us to wait."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    error = body.get("error", body) if isinstance(body, dict) else body
    error = error if isinstance(error, dict) else {"message": error if isinstance(error, str) else ""}
    wait = headers.get("retry-after", "")
    return read_error(
        {**error, "message": error.get("message") or text.strip() or f"status {status}"}, status=status,
        retry_after=float(wait) if re.fullmatch(r"\d+(\.\d+)?", wait) else None,
    )  # fmt: skip


def read_error(error: object, *, status: int = 0, retry_after: float | None = None) -> ModelFailure:
    """Reads one error object. An error inside a stream has no status."""
    known = error if isinstance(error, dict) else {"message": error}
    message, code, type_ = (str(known.get(key) or "") for key in ("message", "code", "type"))
    kind = _CODE_KINDS.get(code) or _CODE_KINDS.get(type_) or _STATUS_KINDS.get(status)
    if kind is None:
        kind = FailureKind.REJECTED if type_ == "invalid_request_error" else FailureKind.OTHER
    if kind is FailureKind.REJECTED:
        kind = next((found for pattern, found in _MESSAGES if pattern.search(message)), kind)
    return ModelFailure(kind, message, retry_after=retry_after)
