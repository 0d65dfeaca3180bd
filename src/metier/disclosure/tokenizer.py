"""Exact token counts, where the extra `tokenizer` is installed."""

from __future__ import annotations

from metier.errors import UnavailableError

from .tiers import TokenCounter

__all__ = ["exact_token_counter"]


def exact_token_counter(vocabulary: str = "o200k_base") -> TokenCounter:
    """A counter by that vocabulary, which comes with the wheel: nothing is downloaded."""
    try:
        from splintr import Tokenizer
    except ImportError:
        raise UnavailableError(
            "exact token counts need a tokenizer", hint="install metier[tokenizer]", retryable=False
        ) from None
    # Ordinary: a skill that spells out a special token means the letters.
    encode = Tokenizer.from_pretrained(vocabulary).encode_ordinary
    return lambda text: len(encode(text))
