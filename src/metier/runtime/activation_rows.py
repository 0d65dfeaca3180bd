"""What an activation will bring: the row that a skill gets, the text that its model gets, and the answer made of both."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from metier.disclosure import escape_instructions, one_line
from metier.spec import Skill
from metier.values import dataclass, field, replace

from .activation import ActivatedBy, Activation, ActivationMode, ActiveSkill, ParameterValue
from .content import Placeholders, SkillContent, fill, parameter_values, render, trim
from .session_options import SessionOptions
from .skill_access import body_of, files_for_model, origin_of

__all__ = ["ActivationRequest", "make_activation", "new_row", "render_content", "render_instructions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationRequest:
    """What somebody wants to activate, and how."""

    name: str
    by: ActivatedBy
    arguments: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    mode: ActivationMode | None = None
    pinned: bool = False


def new_row(skill: Skill, folder: str, asked: ActivationRequest, options: SessionOptions, now: datetime) -> ActiveSkill:
    """The row of a skill that was not active before. What it was told is not known yet."""
    mine = skill.name == asked.name
    return ActiveSkill(
        name=skill.name,
        folder=folder,
        since=now,
        last_use=0,
        by=asked.by if mine else ActivatedBy.DEPENDENCY,
        mode=(asked.mode if mine else None) or options.modes.get(skill.name) or options.mode,
        pinned=(mine and asked.pinned) or skill.name in options.pinned,
        arguments=asked.arguments if mine else "",
        parameters=_parameters(skill, asked.parameters if mine else {}, options),
        dependencies=skill.manifest.extensions.dependencies,
    )


def updated_row(skill: Skill, present: ActiveSkill, asked: ActivationRequest, options: SessionOptions) -> ActiveSkill:
    """The row of an active skill that somebody asks for again. Who says nothing new about it changes nothing."""
    if skill.name != asked.name:
        return present
    says_more = bool(asked.arguments or asked.parameters)
    return replace(
        present,
        # A dependency that somebody asks for by name is theirs from then on.
        by=asked.by if present.by is ActivatedBy.DEPENDENCY else present.by,
        mode=asked.mode or present.mode,
        pinned=present.pinned or asked.pinned,
        arguments=asked.arguments if says_more else present.arguments,
        parameters=_parameters(skill, asked.parameters, options) if says_more else present.parameters,
        dependencies=skill.manifest.extensions.dependencies,
    )


def render_content(skill: Skill, row: ActiveSkill, options: SessionOptions) -> SkillContent:
    filling = Placeholders(directory=row.folder, arguments=row.arguments, parameters=row.parameters)
    return render(
        skill.name, body_of(skill), filling, files_for_model(skill.resources()), budget=options.instruction_tokens,
        count=options.count, most_files=options.listed_files, origin=origin_of(skill),
    )  # fmt: skip


def render_instructions(skill: Skill, row: ActiveSkill, options: SessionOptions) -> str:
    """The same for a block that wraps it in its own way: filled in, within the budget, and with what else there is to read."""
    body = body_of(skill)
    filled = fill(body, Placeholders(directory=row.folder, arguments=row.arguments, parameters=row.parameters))
    kept, note = trim(filled, options.instruction_tokens, count=options.count)
    files = [one_line(path) for path in files_for_model(skill.resources())[: options.listed_files]]
    parts = [kept, f"[{note} The rest is in the skill's SKILL.md.]" if note else ""]
    if row.arguments and "$ARGUMENTS" not in body:
        parts.append(f"Arguments: {row.arguments}")
    if files:
        parts.append(f"Files of this skill, for read_skill_resource: {', '.join(files)}")
    return "\n\n".join(filter(None, parts))


def checksum(content: SkillContent) -> str:
    return f"{zlib.crc32(content.text.encode('utf-8', 'surrogatepass')):08x}{len(content.text):x}"


def make_activation(row: ActiveSkill, contents: Mapping[str, SkillContent], evicted: Sequence[ActiveSkill]) -> Activation:
    """The texts that the model has not had yet, dependencies first, and what else it should know."""
    injected = row.name in contents
    parts = [content.text for content in contents.values()]
    if not injected:
        parts.append(f"The skill {_said(row.name)} is already active; follow the instructions that were given before.")
    if evicted:
        names = ", ".join(_said(each.name) for each in evicted)
        parts.append(f"Unloaded to make room: {names}. Call load_skill to use one again.")
    return Activation(
        name=row.name,
        path=f"{row.folder}/SKILL.md",
        text="\n\n".join(parts),
        tokens=sum(content.tokens for content in contents.values()),
        by=row.by,
        since=row.since,
        injected=injected,
        trimmed=any(content.trimmed for content in contents.values()),
        evicted=tuple(each.name for each in evicted),
    )


def _said(name: str) -> str:
    # A name that breaks the standard's rules is loaded all the same, and may hold anything.
    return escape_instructions(one_line(name))


def _parameters(skill: Skill, given: Mapping[str, object], options: SessionOptions) -> dict[str, ParameterValue]:
    return parameter_values(skill.manifest.extensions.parameters, options.parameters.get(skill.name, {}), given)
