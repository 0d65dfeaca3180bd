"""The folders of skills of all known agents, which metier reads as well."""

from __future__ import annotations

import os

from .known_hosts import HOSTS, expand_folder
from .prompt_hooks import PROMPT_HOOKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["project_skill_folders", "user_skill_folders"]

_READ_BY_ALL = (".claude/skills", ".agents/skills")
"""Shared folders, which have a place of their own in the order of precedence."""


def project_skill_folders() -> tuple[str, ...]:
    """Returns the folders of other agents, relative to a project. A plain name such as `data/skills` may be anything."""
    hooks = (folder for hook in PROMPT_HOOKS.values() for folder in hook.project_folders)
    names = (*(host.project for host in HOSTS.values()), *hooks)
    return tuple(dict.fromkeys(name for name in names if name.startswith(".") and name not in _READ_BY_ALL))


def user_skill_folders(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    hooks = (
        expand_folder(folder, home, environment, moved=HOSTS[hook.host])
        for hook in PROMPT_HOOKS.values()
        for folder in hook.user_folders
    )
    hosts = (host.user_folder(home, environment) for host in HOSTS.values())
    shared = {os.path.join(home, name) for name in _READ_BY_ALL}
    return tuple(dict.fromkeys(folder for folder in (*hosts, *hooks) if folder and folder not in shared))
