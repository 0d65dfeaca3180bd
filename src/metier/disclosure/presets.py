"""The presets of `metier prompt`: one function for each way that an agent describes skills to its model.

| preset | kind of agent | text |
|---|---|---|
| file, tool | any | the catalog within a budget, and how to start a skill by file or by tool |
| compat | skills-ref | `<available_skills>` as `to-prompt` prints it |
| provider | a context provider with tiers | tier one: the catalog with locations |
| section, summary | a prompt made of sections | FULL: the indented catalog with mount paths and steps; SUMMARY: names |
| triggers | four tiers by triggers | by request: nothing, a breadcrumb, the list of skills, or the matching skills in full |
| active | an engine that activates skills | the Active Skills block with capabilities, tools and instructions |
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from metier.errors import RefusedError
from metier.spec import estimate_tokens, resource_path
from metier.values import dataclass

from .catalog_block import breadcrumb, render_block, render_indented_xml, render_reference_xml
from .escaping import escape_instructions, escape_markdown, one_line
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter, brief_text

__all__ = [
    "Preset",
    "SectionVisibility",
    "SkillInstructions",
    "asks_for_skills",
    "check_mount_path",
    "mounted_folder",
    "render_active",
    "render_by_trigger",
    "render_compat",
    "render_provider",
    "render_section",
]


class Preset(StrEnum):
    FILE = "file"
    TOOL = "tool"
    COMPAT = "compat"
    PROVIDER = "provider"
    SECTION = "section"
    SUMMARY = "summary"
    TRIGGERS = "triggers"
    ACTIVE = "active"


class SectionVisibility(StrEnum):
    FULL = "full"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillInstructions:
    """A skill whose instructions go into the prompt."""

    name: str
    description: str
    instructions: str
    tools: tuple[tuple[str, str], ...] = ()
    """Name of each tool that it adds, and one line about it."""


def render_compat(skills: Iterable[PromptSkill], *, count: TokenCounter = estimate_tokens) -> Disclosure:
    """Renders an empty block for no skills, as skills-ref does."""
    shown = list(skills)
    return Disclosure.of(render_reference_xml(shown), Tier.CATALOG, full=_names(shown), count=count)


def render_provider(skills: Iterable[PromptSkill], *, count: TokenCounter = estimate_tokens) -> Disclosure:
    listed = sorted(skills, key=lambda skill: skill.name)
    text = render_block([(skill.name, skill.description, skill.location) for skill in listed], [], CatalogFormat.XML)
    return Disclosure.of(text, Tier.CATALOG, full=_names(listed), count=count)


_SECTION_STEPS = """\
When a task matches an available skill:
1. Read the skill's SKILL.md file for full instructions
2. Follow the instructions step-by-step
3. Use scripts or references in the skill directory as needed"""


def check_mount_path(path: str) -> str:
    """Returns the normalized path. Raises RefusedError if it is absolute, empty or leads out of the workspace."""
    try:
        return resource_path(path)
    except RefusedError as error:
        raise RefusedError(
            f"the mount path {path!r} is not a path inside the workspace", rule=error.rule, hint="use one such as 'skills'"
        ) from None


def render_section(
    skills: Iterable[PromptSkill],
    *,
    mount_path: str = "skills",
    root: str = "",
    visibility: SectionVisibility = SectionVisibility.FULL,
    count: TokenCounter = estimate_tokens,
) -> Disclosure:
    """Renders the skills of the folder `root`, which is at `mount_path` in the agent's workspace.

    A skill keeps its path below the root. Skills elsewhere are left out, because the workspace does not have them. Without a
    `root`, every skill is at the mount path under its name.
    """
    mount = check_mount_path(mount_path)
    listed = sorted((skill for skill in skills if _is_below(skill, root)), key=lambda skill: skill.name)
    if not listed:
        return Disclosure()
    if visibility is SectionVisibility.SUMMARY:
        text = "Available skills: " + ", ".join(escape_markdown(skill.name) for skill in listed)
        return Disclosure.of(text, Tier.NAMES, named=_names(listed), count=count)
    block = render_indented_xml([(skill.name, skill.description, mounted_folder(skill, mount, root)) for skill in listed])
    return Disclosure.of(f"{block}\n\n{_SECTION_STEPS}", Tier.CATALOG, full=_names(listed), count=count)


def mounted_folder(skill: PromptSkill, mount_path: str, root: str) -> str:
    """Returns the skill's folder in a workspace that has `root` at `mount_path`."""
    inner = posixpath.relpath(posixpath.dirname(skill.location), root) if root else skill.name
    return posixpath.normpath(f"{mount_path}/{inner}")


def _is_below(skill: PromptSkill, root: str) -> bool:
    return not root or skill.location.startswith(root.rstrip("/") + "/")


_ASKS_FOR_SKILLS = re.compile(
    r"\bwhat (?:can|could) you (?:do|help)\b|\bwhat are you able to\b|^\s*/skills\b"
    r"|\b(?:list|show|which|what)(?: me)?(?: all)?(?: of)?(?: your| the| my)?(?: available| installed)?"
    r" (?:skills|capabilities|abilities)\b|\bskills (?:do you have|are (?:available|installed))\b",
    re.IGNORECASE,
)


def asks_for_skills(query: str) -> bool:
    """Returns True for a question about the skills themselves, such as "what can you do"."""
    return _ASKS_FOR_SKILLS.search(query[:2_000]) is not None


def render_by_trigger(
    query: str,
    skills: Sequence[PromptSkill],
    matched: Sequence[SkillInstructions],
    *,
    has_triggers: bool,
    count: TokenCounter = estimate_tokens,
) -> Disclosure:
    """Renders one of four tiers. `matched` are the skills whose triggers fit the query, best first."""
    if not skills:
        return Disclosure()
    if matched and not asks_for_skills(query):
        parts = [f"## Skill: {escape_markdown(skill.name)}\n\n{escape_instructions(skill.instructions)}" for skill in matched]
        return Disclosure.of("\n\n".join(parts), Tier.INSTRUCTIONS, full=_names(matched), count=count)
    if asks_for_skills(query) or not has_triggers:
        lines = [f"- {escape_markdown(skill.name)}: {escape_markdown(brief_text(skill, _MAX_BRIEF_CHARS))}" for skill in skills]
        return Disclosure.of("\n".join(["Available skills:", *lines]), Tier.NAMES, named=_names(skills), count=count)
    return Disclosure.of(breadcrumb(len(skills)), Tier.BREADCRUMB, count=count)


_MAX_BRIEF_CHARS = 50
"""With the name, about fifteen tokens for each skill of the list."""
_CAPABILITIES = re.compile(
    r"^#{1,6}\s*(?:key )?(?:capabilities|features|what it (?:does|can do)|techniques)\s*:?\s*$", re.IGNORECASE
)
_BULLET = re.compile(r"^\s{0,3}[-*+]\s+(.+)$")
_MAX_CAPABILITIES = 8


def capabilities(instructions: str) -> tuple[str, ...]:
    """Returns the bullets under a heading such as Capabilities in the skill's own text."""
    found: list[str] = []
    inside = False
    for line in instructions.splitlines():
        if line.startswith("#"):
            if found:
                break
            inside = _CAPABILITIES.match(line) is not None
        elif inside and (bullet := _BULLET.match(line)):
            found.append(escape_instructions(one_line(bullet[1])))
    return tuple(found[:_MAX_CAPABILITIES])


def render_active(skills: Sequence[SkillInstructions], *, count: TokenCounter = estimate_tokens) -> Disclosure:
    """Renders the block of active skills. The caller decides which skills are active, and how many."""
    if not skills:
        return Disclosure()
    parts = ["## Active Skills", "", "You have access to the following specialized skills. Use them when appropriate:"]
    for skill in skills:
        parts += ["", f"### {escape_markdown(skill.name)}", escape_instructions(one_line(skill.description))]
        found = capabilities(skill.instructions)
        if found:
            parts += ["", "Key capabilities:", *(f"- {capability}" for capability in found)]
        if skill.tools:
            parts += [
                "",
                "Available tools:",
                *(f"- {name}: {escape_instructions(one_line(about))}" for name, about in skill.tools),
            ]
        parts += ["", "Follow these instructions:", escape_instructions(skill.instructions)]
    return Disclosure.of("\n".join(parts), Tier.INSTRUCTIONS, full=_names(skills), count=count)


def _names(skills: Iterable[PromptSkill] | Iterable[SkillInstructions]) -> tuple[str, ...]:
    return tuple(skill.name for skill in skills)
