"""The row and the text of one activation, and the Activation made of both."""

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

__all__ = [
    "ActivationRequest",
    "checksum",
    "make_activation",
    "new_row",
    "render_content",
    "render_instructions",
    "updated_row",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationRequest:
    """A request to activate one skill."""

    name: str
    by: ActivatedBy
    arguments: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    mode: ActivationMode | None = None
    pinned: bool = False


def new_row(skill: Skill, folder: str, request: ActivationRequest, options: SessionOptions, now: datetime) -> ActiveSkill:
    """Returns the row of a skill that was not active before. Its checksum is not known yet."""
    requested = skill.name == request.name
    return ActiveSkill(
        name=skill.name,
        folder=folder,
        since=now,
        last_use=0,
        by=request.by if requested else ActivatedBy.DEPENDENCY,
        mode=(request.mode if requested else None) or options.modes.get(skill.name) or options.mode,
        pinned=(requested and request.pinned) or skill.name in options.pinned,
        arguments=request.arguments if requested else "",
        parameters=_parameters(skill, request.parameters if requested else {}, options),
        dependencies=skill.manifest.extensions.dependencies,
    )


def updated_row(skill: Skill, present: ActiveSkill, request: ActivationRequest, options: SessionOptions) -> ActiveSkill:
    """Returns the row of an active skill that is requested again. A request without arguments or options changes nothing."""
    if skill.name != request.name:
        return present
    changed = bool(request.arguments or request.parameters)
    return replace(
        present,
        # A dependency that is requested by name is no longer removed with the skill that needed it.
        by=request.by if present.by is ActivatedBy.DEPENDENCY else present.by,
        mode=request.mode or present.mode,
        pinned=present.pinned or request.pinned,
        arguments=request.arguments if changed else present.arguments,
        parameters=_parameters(skill, request.parameters, options) if changed else present.parameters,
        dependencies=skill.manifest.extensions.dependencies,
    )


def render_content(skill: Skill, row: ActiveSkill, options: SessionOptions) -> SkillContent:
    placeholders = Placeholders(directory=row.folder, arguments=row.arguments, parameters=row.parameters)
    return render(
        skill.name, body_of(skill), placeholders, files_for_model(skill.resources()), budget=options.instruction_tokens,
        count=options.count, max_files=options.listed_files, origin=origin_of(skill),
    )  # fmt: skip


def render_instructions(skill: Skill, row: ActiveSkill, options: SessionOptions) -> str:
    """Returns the instructions for a block of the system prompt: filled in, trimmed to the budget, with the list of files."""
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
    """Joins the texts that the model does not have yet, dependencies first, and the names of evicted skills."""
    injected = row.name in contents
    parts = [content.text for content in contents.values()]
    if not injected:
        parts.append(f"The skill {_safe_name(row.name)} is already active; follow the instructions that were given before.")
    if evicted:
        names = ", ".join(_safe_name(each.name) for each in evicted)
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


def _safe_name(name: str) -> str:
    # A name that breaks the rules of the standard is loaded all the same, and may hold any text.
    return escape_instructions(one_line(name))


def _parameters(skill: Skill, given: Mapping[str, object], options: SessionOptions) -> dict[str, ParameterValue]:
    declared = skill.manifest.extensions.parameters
    configured = dict(options.parameters.get(skill.name, {}))
    for parameter in declared:
        for name in (parameter.name, f"{skill.name}.{parameter.name}"):
            if name in options.given_parameters:
                configured[parameter.name] = options.given_parameters[name]
    return parameter_values(declared, configured, given, skill=skill.name)
