"""The environment variables that a skill's scripts need: declared, or found by reading the scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from metier.errors import MetierError
from metier.runtime.scripts.script import script_paths
from metier.spec import Skill, read_variables
from metier.values import dataclass

from .names import is_secret_name

__all__ = ["NeededVariable", "needed_variables"]

_LARGEST = 256 * 1024
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PROSE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_OTHER_AGENTS = ("openclaw", "clawdbot", "moltbot", "clawdis")


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededVariable:
    name: str
    where: str
    """The place that names it: metadata.env, compatibility, or the path of a script."""


def needed_variables(skill: Skill) -> tuple[NeededVariable, ...]:
    """Returns each variable once, declared ones first. Of those that are only read, the names that look like secrets."""
    found: dict[str, str] = {}
    for name, where in (*_declared(skill), *_read(skill)):
        found.setdefault(name, where)
    return tuple(NeededVariable(name=name, where=where) for name, where in found.items())


def _declared(skill: Skill) -> Iterator[tuple[str, str]]:
    manifest = skill.manifest
    yield from ((name, "metadata.env") for name in manifest.extensions.env)
    for agent in _OTHER_AGENTS:
        try:
            inner = json.loads(manifest.metadata.get(agent, "null"))
            names = inner["requires"]["env"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(names, list):
            yield from ((name, f"metadata.{agent}") for name in names if isinstance(name, str) and re.fullmatch(_NAME, name))
    for name in _PROSE.findall(manifest.compatibility or ""):
        if is_secret_name(name):
            yield name, "compatibility"


def _read(skill: Skill) -> Iterator[tuple[str, str]]:
    for path in script_paths(skill, skill.resources("scripts")):
        try:
            text = skill.resource(path, limit=_LARGEST).decode("utf-8", "replace")
        except MetierError:
            continue
        is_shell = path.endswith((".sh", ".bash")) or text.startswith("#!/bin/")
        yield from ((name, path) for name in read_variables(text, is_shell=is_shell) if is_secret_name(name))
