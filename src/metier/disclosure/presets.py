"""Ways to tell a model about skills, each as one function, each held byte for byte by a golden test.

| preset | kind of agent | what a model gets |
|---|---|---|
| file, tool | any | the catalog within a budget, and how to start a skill by file or by tool |
| compat | as skills-ref | `<available_skills>` as `to-prompt` prints it |
| provider | a context provider in tiers | tier one: the catalog with locations |
| section, summary | a prompt made of sections | FULL: the indented catalog with mount paths and instructions; SUMMARY: names |
| triggers | four tiers by triggers | by query: nothing, a breadcrumb, the registry, or the matching skills in full |
| active | an engine that activates | the Active Skills block with capabilities, tools and instructions |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from metier.spec import estimate_tokens, first_sentence

from .catalog_block import render_block, render_indented_xml, render_reference_xml
from .escaping import escape_instructions, escape_markdown, one_line
from .tiers import CatalogFormat, Disclosure, PromptSkill, Tier, TokenCounter
from .wording import breadcrumb

__all__ = [
    "ActiveSkill",
    "Preset",
    "SectionVisibility",
    "active",
    "asks_for_skills",
    "by_trigger",
    "compat",
    "provider",
    "section",
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
class ActiveSkill:
    """A skill whose instructions go into the prompt."""

    name: str
    description: str
    instructions: str
    tools: tuple[tuple[str, str], ...] = ()
    """Name and one line about each tool that it brings."""


def compat(skills: Iterable[PromptSkill], *, count: TokenCounter = estimate_tokens) -> Disclosure:
    """Also for no skills, as the reference does it: then the block is empty."""
    listed = list(skills)
    return Disclosure.of(render_reference_xml(listed), Tier.CATALOG, full=_names(listed), count=count)


def provider(skills: Iterable[PromptSkill], *, count: TokenCounter = estimate_tokens) -> Disclosure:
    listed = sorted(skills, key=lambda skill: skill.name)
    text = render_block([(skill.name, skill.description, skill.location) for skill in listed], [], CatalogFormat.XML)
    return Disclosure.of(text, Tier.CATALOG, full=_names(listed), count=count)


_SECTION_STEPS = """\
When a task matches an available skill:
1. Read the skill's SKILL.md file for full instructions
2. Follow the instructions step-by-step
3. Use scripts or references in the skill directory as needed"""


def section(
    skills: Iterable[PromptSkill],
    *,
    mount_path: str = "skills",
    folders: Mapping[str, str] | None = None,
    visibility: SectionVisibility = SectionVisibility.FULL,
    count: TokenCounter = estimate_tokens,
) -> Disclosure:
    """`folders` says by name where a skill lies below the mount path, for one whose folder is not called like it."""
    listed = sorted(skills, key=lambda skill: skill.name)
    if not listed:
        return Disclosure()
    if visibility is SectionVisibility.SUMMARY:
        text = "Available skills: " + ", ".join(escape_markdown(skill.name) for skill in listed)
        return Disclosure.of(text, Tier.NAMES, named=_names(listed), count=count)
    below = {skill.name: skill.name for skill in listed} | dict(folders or {})
    block = render_indented_xml([(skill.name, skill.description, f"{mount_path}/{below[skill.name]}") for skill in listed])
    return Disclosure.of(f"{block}\n\n{_SECTION_STEPS}", Tier.CATALOG, full=_names(listed), count=count)


_ASKS = re.compile(
    r"\bwhat (?:can|could) you (?:do|help)\b|\bwhat are you able to\b|^\s*/skills\b"
    r"|\b(?:list|show|which|what)(?: me)?(?: all)?(?: of)?(?: your| the| my)?(?: available| installed)?"
    r" (?:skills|capabilities|abilities)\b|\bskills (?:do you have|are (?:available|installed))\b",
    re.IGNORECASE,
)


def asks_for_skills(query: str) -> bool:
    """Is it a question about the skills themselves?"""
    return _ASKS.search(query[:2_000]) is not None


def by_trigger(
    query: str,
    skills: Sequence[PromptSkill],
    matched: Sequence[ActiveSkill],
    *,
    has_triggers: bool,
    count: TokenCounter = estimate_tokens,
) -> Disclosure:
    """The four tiers. `matched` are the skills whose triggers fit the query, best first, with their instructions."""
    if not skills:
        return Disclosure()
    if matched and not asks_for_skills(query):
        parts = [f"## Skill: {escape_markdown(skill.name)}\n\n{escape_instructions(skill.instructions)}" for skill in matched]
        return Disclosure.of("\n\n".join(parts), Tier.INSTRUCTIONS, full=_names(matched), count=count)
    if asks_for_skills(query) or not has_triggers:
        lines = [f"- {escape_markdown(skill.name)}: {escape_markdown(first_sentence(skill.description))}" for skill in skills]
        return Disclosure.of("\n".join(["Available skills:", *lines]), Tier.NAMES, named=_names(skills), count=count)
    return Disclosure.of(breadcrumb(len(skills)), Tier.BREADCRUMB, count=count)


_CAPABILITIES = re.compile(
    r"^#{1,6}\s*(?:key )?(?:capabilities|features|what it (?:does|can do)|techniques)\s*:?\s*$", re.IGNORECASE
)
_BULLET = re.compile(r"^\s{0,3}[-*+]\s+(.+)$")
_MOST_CAPABILITIES = 8


def capabilities(instructions: str) -> tuple[str, ...]:
    """What the skill's own text lists under a heading such as Capabilities; nothing is made up."""
    found: list[str] = []
    inside = False
    for line in instructions.splitlines():
        if line.startswith("#"):
            if found:
                break
            inside = _CAPABILITIES.match(line) is not None
        elif inside and (bullet := _BULLET.match(line)):
            found.append(one_line(bullet[1]))
    return tuple(found[:_MOST_CAPABILITIES])


def active(skills: Sequence[ActiveSkill], *, count: TokenCounter = estimate_tokens) -> Disclosure:
    """The block of active skills. The caller decides which skills are active, and how many."""
    if not skills:
        return Disclosure()
    parts = ["## Active Skills", "", "You have access to the following specialized skills. Use them when appropriate:"]
    for skill in skills:
        parts += ["", f"### {escape_markdown(skill.name)}", one_line(skill.description)]
        listed = capabilities(skill.instructions)
        if listed:
            parts += ["", "Key capabilities:", *(f"- {capability}" for capability in listed)]
        if skill.tools:
            parts += ["", "Available tools:", *(f"- {name}: {one_line(about)}" for name, about in skill.tools)]
        parts += ["", "Follow these instructions:", escape_instructions(skill.instructions)]
    return Disclosure.of("\n".join(parts), Tier.INSTRUCTIONS, full=_names(skills), count=count)


def _names(skills: Iterable[PromptSkill] | Iterable[ActiveSkill]) -> tuple[str, ...]:
    return tuple(skill.name for skill in skills)
