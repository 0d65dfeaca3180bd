"""An answer as our own client stores it: the fields that every API has, the price and the time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .prices import price_of
from .transcript import MessagePart, TranscriptMessage

__all__ = ["new_answer"]


def new_answer(
    parts: tuple[MessagePart, ...], *, head: Mapping[str, Any], provider: str, finish_reason: str,  # Any: JSON
    input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0, address: str = "",
) -> TranscriptMessage:  # fmt: skip
    """`head` has the id and the model; `written_tokens` are those that the provider added to its cache."""
    model = str(head.get("model") or "")
    counts = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cached_tokens": cached_tokens}
    more: dict[str, Any] = {"timestamp": datetime.now(UTC).isoformat()}
    more |= {"usage": {"cache_write_tokens": written_tokens}} if written_tokens else {}
    more |= {"provider_url": address} if address else {}
    return TranscriptMessage(
        is_answer=True, parts=parts, model=model, provider=provider, id=str(head.get("id") or ""), **counts,
        finish_reason=finish_reason, cost=price_of(model, provider, **counts, written_tokens=written_tokens), more=more,
    )  # fmt: skip
