"""Every sentence we say to a model: how much, in which form, within which budget."""

from .budget import Budget, catalog_within
from .ladder import Count, Disclosure, Format, Listed, Tier
from .presets import Active, Preset, Visibility, active, asks_for_skills, by_trigger, compat, provider, section
from .wording import Activation

__all__ = [
    "Activation",
    "Active",
    "Budget",
    "Count",
    "Disclosure",
    "Format",
    "Listed",
    "Preset",
    "Tier",
    "Visibility",
    "active",
    "asks_for_skills",
    "by_trigger",
    "catalog_within",
    "compat",
    "provider",
    "section",
]
