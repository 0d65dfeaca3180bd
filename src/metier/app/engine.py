"""Builds the engine of a conversation from the settings, an agent and the skills that the agent names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from metier.agents import BASE_INSTRUCTIONS, AgentEngine, AgentVersion, Compaction, EngineOptions, TurnLimits, fill_instructions
from metier.catalog import Catalog, State
from metier.config import one_of
from metier.disclosure import Budget
from metier.errors import MetierError
from metier.values import replace

if TYPE_CHECKING:
    from metier.runtime import ApprovalHook, Workspace

    from .conversations import Conversations

__all__ = ["build_engine"]


class _Selection(StrEnum):
    """The values of `engine.selection`."""

    LOCAL = "local"
    LLM = "llm"


def build_engine(
    conversations: Conversations, id: str | None, *, agent: str, model: str | None, approve: ApprovalHook | None,  # noqa: A002
    variables: Mapping[str, str] | None, kept: bool, reload_skills: bool, parameters: Mapping[str, str] | None,
    workspace: Workspace | None = None,
) -> AgentEngine:  # fmt: skip
    version = conversations.agents.get(agent) if agent else None
    plan = version.agent if version else None
    only, warnings = _skills(conversations, plan.skills) if plan and plan.skills is not None else (None, ())
    if plan and not model:
        choice = conversations.model(plan.model, base_url=plan.base_url, key_variable=plan.key_variable)
    else:
        choice = conversations.model(model)
    options = _options(conversations, version, model=choice.name if choice else "", variables=variables)
    return AgentEngine(
        conversations.sessions.open(
            id, approve=approve, kept=kept, only=only, parameters=parameters, workspace=workspace,
            general_tools=conversations.settings.boolean("engine.tools"),
        ),
        model=choice,
        conversations=conversations.store if kept else None,
        options=replace(options, warnings=warnings, reload_skills=reload_skills),
    )  # fmt: skip


def _options(
    conversations: Conversations, version: AgentVersion | None, *, model: str, variables: Mapping[str, str] | None
) -> EngineOptions:
    settings = conversations.settings
    instructions = BASE_INSTRUCTIONS
    if version and version.agent.instructions:
        today = f"{datetime.now():%Y-%m-%d}"  # noqa: DTZ005  (the user's own day)
        instructions = fill_instructions(version.agent, date=today, model=model, given=variables)
    limits = TurnLimits(
        steps=settings.number("engine.steps"), tokens=settings.number("engine.turn_tokens"),
        retries=settings.number("engine.retries"),
        session_tokens=settings.number("engine.session_tokens"), context_tokens=settings.number("engine.context_tokens"),
    )  # fmt: skip
    return EngineOptions(
        instructions=instructions, auto_select=settings.boolean("skills.auto_select"), limits=limits,
        ask_model=one_of(settings, "engine.selection", _Selection) is _Selection.LLM,
        compaction=one_of(settings, "engine.compaction", Compaction),
        catalog=Budget(tokens=settings.number("engine.catalog_tokens")),
        agent=version.agent.name if version else "", version=version.number if version else 0,
    )  # fmt: skip


def _skills(conversations: Conversations, refs: Iterable[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Returns the names of an agent's skills with their dependencies, and a warning for each that cannot be used."""
    catalog = conversations.skills.catalog
    names: list[str] = []
    warnings: list[str] = []
    for ref in refs:
        try:
            names += conversations.resolve(ref)
        except MetierError as error:
            warnings.append(f"the agent's skill {ref!r} is not installed: {error}; {error.hint}")
    entries = [entry for name in names if (entry := catalog.get(name)) and entry.state is not State.ENABLED]
    warnings += [f"the agent's skill {entry.name!r} is {entry.state}: {entry.reason}" for entry in entries]
    return _with_dependencies(catalog, names), tuple(warnings)


def _with_dependencies(catalog: Catalog, names: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        entry = catalog.get(name)
        if name not in found and entry is not None:
            found.add(name)
            pending += entry.manifest.extensions.dependencies
    return frozenset(found)
