"""Every sentence we say to a model: how much, in which form, within which budget."""

from .budget import Budget, catalog_within
from .presets import ActiveSkill, Preset, SectionVisibility, active, asks_for_skills, by_trigger, compat, provider, section
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter
from .wording import ActivationMethod

__all__ = [
    "ActivationMethod",
    "ActiveSkill",
    "Budget",
    "CatalogFormat",
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
    "provider",
    "section",
]
