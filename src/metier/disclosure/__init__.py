"""The text that a model is given about skills: how much, in which format, within which token budget."""

from .budget import Budget, CatalogStyle, render_catalog
from .catalog_block import ActivationMethod, CatalogLine, left_out_sentence, render_block
from .escaping import (
    ENVELOPE_TAGS,
    escape_instructions,
    escape_markdown,
    escape_output,
    escape_xml,
    one_line,
    replace_invisible,
)
from .presets import (
    Preset,
    SectionVisibility,
    SkillInstructions,
    asks_for_skills,
    check_mount_path,
    mounted_folder,
    render_active,
    render_by_trigger,
    render_compat,
    render_provider,
    render_section,
)
from .prompt import PromptOptions, RankedSkill, RequestSelector, WholeSkillLoader, render_prompt
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter, exact_token_counter

__all__ = [
    "ENVELOPE_TAGS",
    "ActivationMethod",
    "Budget",
    "CatalogFormat",
    "CatalogLine",
    "CatalogStyle",
    "Disclosure",
    "Preset",
    "PromptOptions",
    "PromptSkill",
    "RankedSkill",
    "RequestSelector",
    "SectionVisibility",
    "SkillInstructions",
    "Tier",
    "TokenCounter",
    "WholeSkillLoader",
    "asks_for_skills",
    "check_mount_path",
    "escape_instructions",
    "escape_markdown",
    "escape_output",
    "escape_xml",
    "exact_token_counter",
    "left_out_sentence",
    "mounted_folder",
    "one_line",
    "render_active",
    "render_block",
    "render_by_trigger",
    "render_catalog",
    "render_compat",
    "render_prompt",
    "render_provider",
    "render_section",
    "replace_invisible",
]
