"""How an engine is put together from an app's parts: its settings, an agent, the skills behind that agent's refs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from metier.agents import AgentEngine, AgentVersion, Compaction, EngineOptions, ModelChoice, TurnLimits
from metier.agents.agent import fill_instructions
from metier.agents.prompt import BASE
from metier.catalog import Catalog, State
from metier.config.options import one_of
from metier.disclosure import Budget
from metier.errors import MetierError, SkillNotFoundError
from metier.spec import is_name
from metier.values import replace

if TYPE_CHECKING:
    from metier.runtime import ApprovalHook

    from . import App

__all__ = ["engine_of", "model_of", "options_of", "resolved"]


class Chooser(StrEnum):
    """The words of `engine.selection`."""

    LOCAL = "local"
    LLM = "llm"


def engine_of(
    app: App, id: str | None, *, agent: str, model: str | None, approve: ApprovalHook | None,  # noqa: A002
    variables: Mapping[str, str] | None, kept: bool,
) -> AgentEngine:  # fmt: skip
    version = app.agents.get(agent) if agent else None
    plan = version.agent if version else None
    only, warnings = _skills(app, plan.skills) if plan else (None, ())
    if plan and not model:
        choice = model_of(app, plan.model, base_url=plan.base_url, key_variable=plan.key_variable)
    else:
        choice = model_of(app, model)
    options = options_of(app, version, model=choice.name if choice else "", variables=variables)
    return AgentEngine(
        app.session(id, approve=approve, kept=kept, only=only), model=choice, repository=app.chats if kept else None,
        options=replace(options, warnings=warnings),
    )  # fmt: skip


def model_of(app: App, name: str | None = None, *, base_url: str = "", key_variable: str = "") -> ModelChoice | None:
    settings = app.users_settings
    chosen = name or settings["model.name"].value
    if not chosen:
        return None
    # A model that names its provider is not asked at the settings' server; a bare name belongs to a server.
    own = settings["model.base_url"].value or ""
    server = base_url or (own if not name or ":" not in name else "")
    variable = key_variable or settings["model.key_variable"].value or ("OPENAI_API_KEY" if server else "")
    return ModelChoice(name=chosen, base_url=server, key=app.environment.get(variable, ""))


def options_of(
    app: App, version: AgentVersion | None, *, model: str = "", variables: Mapping[str, str] | None = None
) -> EngineOptions:
    users = app.users_settings
    instructions = BASE
    if version and version.agent.instructions:
        today = f"{datetime.now():%Y-%m-%d}"  # noqa: DTZ005  (the user's own day)
        instructions = fill_instructions(version.agent, date=today, model=model, given=variables)
    limits = TurnLimits(
        steps=users.number("engine.steps"), tokens=users.number("engine.turn_tokens"), retries=users.number("engine.retries"),
        session_tokens=users.number("engine.session_tokens"), context_tokens=users.number("engine.context_tokens"),
    )  # fmt: skip
    return EngineOptions(
        instructions=instructions, auto_select=app.settings.truth("skills.auto_select"), limits=limits,
        ask_model=one_of(users, "engine.selection", Chooser) is Chooser.LLM,
        compaction=one_of(users, "engine.compaction", Compaction), catalog=Budget(tokens=users.number("engine.catalog_tokens")),
        agent=version.agent.name if version else "", version=version.number if version else 0,
    )  # fmt: skip


def resolved(app: App, ref: str) -> tuple[str, ...]:
    if is_name(ref):
        return (app.catalog[ref].name,)
    # Imported here: an agent with plain names must not pay for what knows every kind of address.
    from metier.install.refs.parsing import parse_ref
    from metier.install.targets.scope import ScopeLevel

    text = parse_ref(ref, aliases=tuple({"r9s", *(source.name for source in app.access().sources)})).text
    asked = [entry.name for level in ScopeLevel for entry in app.installed(level).lock() if entry.asked == text]
    names = tuple(name for name in dict.fromkeys(asked) if name in app.catalog)
    if not names:
        raise SkillNotFoundError(ref, hint=f"install it with `metier skill install {ref}`")
    return names


def _skills(app: App, refs: Iterable[str]) -> tuple[frozenset[str] | None, tuple[str, ...]]:
    """The names behind an agent's refs, with what they depend on, and a warning for each that cannot be used."""
    names: list[str] = []
    warnings: list[str] = []
    for ref in refs:
        try:
            names += resolved(app, ref)
        except MetierError as error:
            warnings.append(f"the agent's skill {ref!r} is not here: {error}; {error.hint}")
    entries = [entry for name in names if (entry := app.catalog.get(name)) and entry.state is not State.ENABLED]
    warnings += [f"the agent's skill {entry.name!r} is {entry.state}: {entry.reason}" for entry in entries]
    return (_with_dependencies(app.catalog, names) if names or warnings else None), tuple(warnings)


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
