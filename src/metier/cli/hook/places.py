"""The agents that a `metier hook` command is about."""

from __future__ import annotations

from collections.abc import Sequence

import click

from metier.app import App
from metier.errors import UsageError
from metier.hosts import HOST_ALIASES, PROMPT_HOOKS, detect_hosts
from metier.install import HookPlace

__all__ = ["complete_hook_agents", "hook_agents", "hook_place"]


def complete_hook_agents(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in PROMPT_HOOKS if name.startswith(start)]


def hook_agents(app: App, named: Sequence[str]) -> tuple[str, ...]:
    """Returns the named agents, or those on this machine that have a hook for prompts."""
    if not named:
        return tuple(name for name in detect_hosts(app.paths.user_home, app.environment) if name in PROMPT_HOOKS)
    names = [HOST_ALIASES.get(name, name) for name in named]
    for name in names:
        if name not in PROMPT_HOOKS:
            raise UsageError(
                f"{name!r} has no hook for prompts that metier knows", hint=f"choose from {', '.join(PROMPT_HOOKS)}"
            )
    return tuple(dict.fromkeys(names))


def hook_place(app: App, agent: str, *, project: bool) -> HookPlace:
    """Returns the agent's file of the user, or of the project that project skills are installed into."""
    root = app.paths.install_project if project else None
    return HookPlace.of(PROMPT_HOOKS[agent], home=app.paths.user_home, environment=app.environment, project=root)
