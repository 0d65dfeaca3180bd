"""The text that a model is given about skills: how much, in which format, within which token budget."""

from .budget import Budget, catalog_within
from .catalog_block import CatalogLine, render_block
from .escaping import (
    escape_instructions,
    escape_markdown,
    escape_output,
    escape_xml,
    one_line,
    replace_invisible,
)
from .presets import ActiveSkill, Preset, SectionVisibility, active, asks_for_skills, by_trigger, compat, provider, section
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter
from .tokenizer import exact_token_counter
from .wording import ActivationMethod, left_out

__all__ = [
    "ActivationMethod",
    "ActiveSkill",
    "Budget",
    "CatalogFormat",
    "CatalogLine",
    "Disclosure",
    "Preset",
    "PromptSkill",
    "SectionVisibility",
    "Tier",
    "TokenCounter",
    "active",
    "asks_for_skills",
    "by_trigger",
    "catalog_within",
    "compat",
    "escape_instructions",
    "escape_markdown",
    "escape_output",
    "escape_xml",
    "exact_token_counter",
    "left_out",
    "one_line",
    "provider",
    "render_block",
    "replace_invisible",
    "section",
]
