"""The keys beyond the standard that metier understands.

Authors write them at the top level or under `metadata`, the standard's place for them. Both are read, and `metadata` wins.
Nothing here rejects a skill: a value that cannot be understood is reported, and its default is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from metier.values import dataclass, field

from .capabilities import Capabilities

__all__ = [
    "EXTENSION_KEYS",
    "EXTENSION_SPELLINGS",
    "Extensions",
    "Parameter",
    "ParameterType",
    "Toolset",
    "Triggers",
    "is_file_of",
    "toolset_problem",
]

EXTENSION_KEYS = frozenset({
    "version", "author", "tags", "keywords", "requires", "toolsets", "scripts", "triggers", "default_enabled",
    "brief_description", "disable-model-invocation", "user-invocable", "argument-hint", "dependencies", "parameters",
    "network", "env", "capabilities", "permissions",
})  # fmt: skip
TEXT_KEYS = frozenset({
    "version", "author", "brief_description", "argument-hint", "tags", "keywords", "requires", "network", "env", "capabilities",
})  # fmt: skip
"""Keys whose values are kept as written: version 1.10 must not become the number 1.1."""
SPELLINGS = {
    "user_invocable": "user-invocable", "user-invokable": "user-invocable", "argument_hint": "argument-hint",
    "disable_model_invocation": "disable-model-invocation", "default-enabled": "default_enabled",
    "brief-description": "brief_description",
}  # fmt: skip
EXTENSION_SPELLINGS = EXTENSION_KEYS | SPELLINGS.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    keywords: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Regular expressions as written; the caller must bound their running time."""

    @property
    def any(self) -> bool:
        return bool(self.keywords or self.verbs or self.patterns)


@dataclass(frozen=True, slots=True)
class Toolset:
    module: str
    """Path inside the skill without its ending: toolsets/index."""
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class ParameterType(StrEnum):
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    type: ParameterType = ParameterType.STRING
    default: str | int | float | bool | None = None
    """None if a value is required."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    version: str | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Commands that must be on PATH."""
    toolsets: tuple[Toolset, ...] = ()
    scripts: tuple[str, ...] = ()
    """Paths such as scripts/chart.py. If there are any, no other file of the skill is a script."""
    script_descriptions: Mapping[str, str] = field(default_factory=dict)
    """By path."""
    triggers: Triggers = field(default_factory=Triggers)
    default_enabled: bool = True
    brief_description: str | None = None
    disable_model_invocation: bool = False
    """The model must not start this skill; a user still may."""
    user_invocable: bool = True
    argument_hint: str | None = None
    dependencies: tuple[str, ...] = ()
    """Names of skills that are activated with this one."""
    dependency_versions: Mapping[str, str] = field(default_factory=dict)
    """The range of versions that a dependency must have, by its name."""
    parameters: tuple[Parameter, ...] = ()
    network: tuple[str, ...] = ()
    """Hosts that its scripts need: api.example.com, *.example.org:8443. The user decides about each."""
    env: tuple[str, ...] = ()
    """Environment variables that its scripts need, such as API_KEY."""
    capabilities: Capabilities | None = None
    """The author's own list, with `network`, `env` and `requires`; None without one. It is a claim and grants nothing."""


def is_file_of(script: str, path: str) -> bool:
    """Returns True if a declared script is this file. It may be declared without its ending."""
    return path == script or ("." not in script.rpartition("/")[2] and path.rpartition(".")[0] == script)


def toolset_problem(toolset: Toolset, paths: Collection[str]) -> str:
    """Returns why a toolset cannot be loaded from these files; empty if its module is there."""
    if f"{toolset.module}.py" in paths or f"{toolset.module}/__init__.py" in paths:
        return ""
    other = next((path for path in paths if path.rpartition(".")[0] == toolset.module), None)
    if other is None:
        return f"{toolset.module}.py is not in the skill"
    language = "TypeScript" if other.endswith((".ts", ".mts", ".cts", ".tsx")) else "not Python"
    return f"{other} is {language}, and metier loads Python toolsets"
