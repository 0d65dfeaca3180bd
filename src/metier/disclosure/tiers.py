"""How much a model is told: one ladder for every design.

Each rung costs more tokens than the one below it. Who stands on which rung is decided elsewhere; here is what each rung is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from metier.spec import estimate_tokens

__all__ = ["CatalogFormat", "Disclosure", "PromptSkill", "Tier", "TokenCounter"]

TokenCounter = Callable[[str], int]
"""Tokens of a text; the estimate by default, a tokenizer where one is installed."""


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
    """What the catalog shows of a skill."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def location(self) -> str:
        """Where its SKILL.md can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Exactly what a model gets, and what that cost."""

    text: str = ""
    tier: Tier = Tier.NOTHING
    tokens: int = 0
    full: tuple[str, ...] = ()
    """Skills shown with their whole description, or with their instructions."""
    shortened: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: int = 0
    """Skills that the model does not see at all; the text says so."""

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
        """Nothing at all when there is nothing to say."""
        if not text:
            return cls()
        return cls(text=text, tier=tier, tokens=count(text), full=full, named=named)
