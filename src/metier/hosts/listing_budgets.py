"""The room that each agent has for its list of skills, and how it cuts a list that is too long.

The rows of Claude Code, Codex, Copilot, Gemini CLI and opencode were measured: the tests start these programs and compare. The
others follow the source that is named. docs/budgets.md has this table for readers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

__all__ = ["LISTING_BUDGETS", "Cut", "ListingBudget", "OwnSkill"]


class Cut(StrEnum):
    """The way an agent shortens its list of skills."""

    NOTHING = "nothing"
    NAMES_ONLY = "names only"
    """Descriptions are given away in order of use; a skill whose description does not fit is listed by name."""
    SHORTEN_FAIRLY = "shortened"
    """All descriptions get the same room, character by character; without any left, the last skills are dropped."""
    NAME_REST = "named"
    """From the first skill that does not fit on, all are listed by name."""
    REFUSE = "refused"
    """A skill with a longer description cannot be added at all."""


class OwnSkill(NamedTuple):
    """A skill that comes with the agent and takes a part of the room."""

    name: str
    length: int
    """Characters of its description."""
    always_whole: bool = False


class ListingBudget(NamedTuple):
    host: str
    cut: Cut
    version: str
    source: str
    """The documentation page, source file or measurement behind this row."""
    context: int = 0
    """Tokens of the context window of the agent's default model; 0 if the list does not depend on it."""
    percent: int = 0
    """The part of the context window that is for the list."""
    characters_per_token: int = 0
    """Turns that part into characters; 0 if the agent counts tokens, of four bytes each."""
    characters: int = 0
    """A fixed limit of the whole list."""
    most_description: int = 0
    """The most characters of one description; 0 for no limit."""
    ellipsis: str = ""
    own: tuple[OwnSkill, ...] = ()
    shows_hidden: bool = False
    """True if the agent lists skills with `disable-model-invocation: true` all the same."""
    setting: str = ""
    """The agent's own setting that hides one skill from its model; empty if none is documented."""

    @property
    def unit(self) -> str:
        return "characters" if self.characters or self.characters_per_token else "tokens" if self.percent else ""

    def limit(self, context: int | None = None) -> int:
        """Returns the room for the list with a context window of this many tokens; 0 if there is no limit."""
        if self.characters:
            return self.characters
        return (context or self.context) * max(self.characters_per_token, 1) * self.percent // 100


_CLAUDE_CODE = tuple(
    OwnSkill(name, length, always_whole=name not in ("init", "review", "security-review"))
    for name, length in (
        ("deep-research", 470), ("update-config", 690), ("keybindings-help", 228), ("verify", 250), ("code-review", 346),
        ("simplify", 176), ("fewer-permission-prompts", 163), ("loop", 306), ("claude-api", 1068), ("run", 361), ("init", 59),
        ("review", 68), ("security-review", 71),
    )
)  # fmt: skip

LISTING_BUDGETS: dict[str, ListingBudget] = {
    budget.host: budget
    for budget in (
        ListingBudget(
            "claude-code", Cut.NAMES_ONLY, "2.1.197",
            "measured; https://code.claude.com/docs/en/skills and /settings (skillListingBudgetFraction)",
            context=1_000_000, percent=1, characters_per_token=3, most_description=1536, ellipsis="…", own=_CLAUDE_CODE,
            setting="skillOverrides",
        ),
        ListingBudget(
            "codex", Cut.SHORTEN_FAIRLY, "0.169.0",
            "measured; github.com/openai/codex codex-rs/ext/skills/src/render.rs",
            context=272_000, percent=2, most_description=1024, ellipsis="...", shows_hidden=True,
            own=(OwnSkill("imagegen", 570), OwnSkill("openai-docs", 624), OwnSkill("skill-creator", 106),
                 OwnSkill("skill-installer", 225)),
            setting="[[skills.config]]",
        ),
        ListingBudget(
            "gemini-cli", Cut.NOTHING, "0.61.0", "measured; github.com/google-gemini/gemini-cli packages/core/src/prompts",
            own=(OwnSkill("skill-creator", 230), OwnSkill("antigravity-support", 273)), shows_hidden=True,
            setting="skills.disabled",
        ),
        ListingBudget(
            "opencode", Cut.NOTHING, "1.18.33", "measured; https://opencode.ai/docs/skills",
            own=(OwnSkill("customize-opencode", 386),), shows_hidden=True, setting="permission.skill",
        ),
        ListingBudget(
            "github-copilot", Cut.NAME_REST, "1.0.102",
            "measured; github.com/github/copilot-cli issues 1464 and 2314", characters=15_000,
            own=(OwnSkill("customize-cloud-agent", 216), OwnSkill("github-pr-media", 329)), setting="disabledSkills",
        ),
        ListingBudget("cursor", Cut.NOTHING, "", "not measured; no limit was found"),
        ListingBudget(
            "claude-ai", Cut.REFUSE, "",
            "not measured; https://support.claude.com/en/articles/12512198-how-to-create-custom-skills", most_description=200,
        ),
    )
}  # fmt: skip
