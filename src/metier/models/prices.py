"""Prices of models, from the list of the package genai-prices, which comes with the extra `models`."""

from __future__ import annotations

__all__ = ["price_of"]

_WITHOUT_PRICES = frozenset({"ollama", "litellm"})
"""Providers that are the user's own server."""


def price_of(
    model: str, provider: str, *, input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0
) -> float | None:
    """Returns US dollars; None if the price is not known, as for a model on the user's own server."""
    if provider in _WITHOUT_PRICES:
        return None
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    used = Usage(
        input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens,
        cache_write_tokens=written_tokens,
    )  # fmt: skip
    try:
        return float(calc_price(used, model_ref=model, provider_id=provider).total_price)
    except (LookupError, ValueError, AssertionError):
        return None
