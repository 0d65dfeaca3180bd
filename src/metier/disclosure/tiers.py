"""The tiers by which skills are shown to a model, and the `Disclosure` that every renderer returns.

Each tier costs more tokens than the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from metier.extras import MissingExtraError
from metier.spec import estimate_tokens, first_sentence
from metier.values import dataclass

__all__ = ["CatalogFormat", "Disclosure", "PromptSkill", "Tier", "TokenCounter", "brief_text", "exact_token_counter"]

TokenCounter = Callable[[str], int]
"""Counts the tokens of a text: `estimate_tokens` by default, `exact_token_counter()` where the extra is installed."""


class Tier(StrEnum):
    NOTHING = "nothing"
    BREADCRUMB = "breadcrumb"
    """`[12 skills available]`, about ten tokens."""
    NAMES = "names"
    CATALOG = "catalog"
    """Names, descriptions and locations."""
    INSTRUCTIONS = "instructions"
    RESOURCE = "resource"


class CatalogFormat(StrEnum):
    XML = "xml"
    MARKDOWN = "markdown"
    JSON = "json"


class PromptSkill(Protocol):
    """The part of a skill that a catalog shows. `metier.catalog.Entry` is one."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def location(self) -> str:
        """Path of its SKILL.md."""


def brief_text(skill: PromptSkill, limit: int) -> str:
    """Returns the author's brief description, or the first sentence, cut at a word."""
    text = getattr(skill, "brief", "") or first_sentence(skill.description)
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0].rstrip(",;:(") + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """The exact text for a model, its cost, and which skills it shows."""

    text: str = ""
    tier: Tier = Tier.NOTHING
    tokens: int = 0
    full: tuple[str, ...] = ()
    """Skills shown with their whole description, or with their instructions."""
    shortened: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: int = 0
    """Skills that are not shown at all; the text gives their number."""

    @property
    def on_page(self) -> tuple[str, ...]:
        return (*self.full, *self.shortened, *self.named)

    @classmethod
    def of(
        cls,
        text: str,
        tier: Tier,
        *,
        full: tuple[str, ...] = (),
        named: tuple[str, ...] = (),
        count: TokenCounter = estimate_tokens,
    ) -> Disclosure:
        """Returns the empty disclosure if the text is empty."""
        if not text:
            return cls()
        return cls(text=text, tier=tier, tokens=count(text), full=full, named=named)


def exact_token_counter(vocabulary: str = "o200k_base") -> TokenCounter:
    """Returns a counter for that vocabulary, which ships with the extra `tokenizer`; nothing is downloaded."""
    try:
        from splintr import Tokenizer
    except ImportError:
        raise MissingExtraError("exact token counts need a tokenizer, which is not installed", extra="tokenizer") from None
    # `encode_ordinary`, because a special token that a skill spells out is plain text.
    encode = Tokenizer.from_pretrained(vocabulary).encode_ordinary
    return lambda text: len(encode(text))
