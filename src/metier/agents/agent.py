"""An agent as a value: model, instructions and skills. Pure; see `store` for its versions.

Stored as TOML that people can read and edit. `{{name}}` in the instructions is a variable. Each must be declared, so that a
typo is an error when the agent is saved and not a gap in a prompt.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from metier.errors import ConfigError, UsageError
from metier.spec import is_name
from metier.values import dataclass, field, replace

__all__ = [
    "BUILT_IN",
    "Agent",
    "AgentVersion",
    "diff_versions",
    "fill_instructions",
    "parse_export",
    "parse_version",
    "rename_agent",
    "render_export",
    "render_version",
    "variables_of",
]

BUILT_IN = ("agent", "date", "model")
"""Variables that every agent has."""
_VARIABLE = re.compile(r"(\\?)\{\{\s*([A-Za-z_][\w-]*)\s*\}\}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_TEXTS = ("model", "base_url", "key_variable", "instructions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    name: str
    model: str = ""
    """`openai:gpt-5`, `anthropic:…`, or a name of the server at `base_url`; empty is the model of the settings."""
    base_url: str = ""
    """An OpenAI-compatible server."""
    key_variable: str = ""
    """The environment variable that holds the key. Never the key itself, because versions are kept."""
    instructions: str = ""
    skills: tuple[str, ...] | None = None
    """Refs. None means every skill, and an empty tuple none."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the instructions. A variable without a value needs one when the agent is used."""

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise UsageError(f"{self.name!r} is not a valid agent name", hint="use a-z, 0-9 and single hyphens")
        wrong = [name for name in self.variables if not _NAME.fullmatch(name) or name in BUILT_IN]
        if wrong:
            raise UsageError(
                f"invalid variable name {wrong[0]!r}", hint=f"use letters, digits and _; {', '.join(BUILT_IN)} are built in"
            )
        unknown = [name for name in variables_of(self.instructions) if name not in self.variables and name not in BUILT_IN]
        if unknown:
            raise UsageError(
                f"the instructions use the undeclared variable {{{{{unknown[0]}}}}}",
                hint=f"declare it with --var {unknown[0]}=VALUE, or write \\{{{{{unknown[0]}}}}} for literal text",
            )

    @property
    def unused_variables(self) -> tuple[str, ...]:
        used = set(variables_of(self.instructions))
        return tuple(name for name in self.variables if name not in used)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentVersion:
    """A version of an agent. It never changes."""

    number: int
    created: datetime
    change: str
    """A short description of the change."""
    agent: Agent


def variables_of(instructions: str) -> tuple[str, ...]:
    """The variables of the instructions, each once, in order."""
    return tuple(dict.fromkeys(match[2] for match in _VARIABLE.finditer(instructions) if not match[1]))


def fill_instructions(agent: Agent, *, date: str, model: str, given: Mapping[str, str] | None = None) -> str:
    """Replaces the variables of the instructions, in one pass, so that values are not expanded again."""
    unknown = [name for name in given or {} if name not in agent.variables]
    if unknown:
        known = ", ".join(agent.variables) or "none"
        raise UsageError(f"{agent.name} has no variable {unknown[0]!r}", hint=f"its variables: {known}")
    values = {**agent.variables, **(given or {})}
    missing = [name for name in variables_of(agent.instructions) if name not in BUILT_IN and not values.get(name)]
    if missing:
        raise UsageError(f"{agent.name} needs a value for {missing[0]!r}", hint=f"give it with --var {missing[0]}=VALUE")
    values |= {"agent": agent.name, "date": date, "model": model}
    return _VARIABLE.sub(lambda match: match[0][1:] if match[1] else values[match[2]], agent.instructions)


def diff_versions(before: AgentVersion, after: AgentVersion) -> tuple[list[str], list[str]]:
    """The changed fields, and a unified diff of the two versions as TOML."""
    names = [each.name for each in fields(Agent) if getattr(before.agent, each.name) != getattr(after.agent, each.name)]
    old, new = (_body(version.agent).splitlines() for version in (before, after))
    diff = difflib.unified_diff(old, new, f"version {before.number}", f"version {after.number}", lineterm="")
    return names, list(diff)


def render_version(version: AgentVersion) -> str:
    head = f"version = {version.number}\ncreated = {version.created:%Y-%m-%dT%H:%M:%SZ}\nchange = {_text(version.change)}\n\n"
    return head + _body(version.agent)


def parse_version(text: str, *, file: str) -> AgentVersion:
    """Raises ConfigError with the file, and the line if it is not valid TOML."""
    hint = "see `metier agent show` of another one, or `metier agent rollback`"
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        message = re.sub(r" \(at [^)]*\)", "", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        raise ConfigError(f"not valid TOML: {message}", file=file, line=line, hint=hint) from error
    try:
        return _version(table)
    except UsageError as error:
        raise ConfigError(str(error), file=file, hint=error.hint) from error
    except _FieldError as wrong:
        raise ConfigError(f"{wrong} is not valid", file=file, hint=hint) from None


def render_export(versions: Sequence[AgentVersion]) -> str:
    """Several versions of an agent as one JSON document."""
    return json.dumps({"metier-agent": 1, "versions": [render_version(each) for each in versions]}, indent=2) + "\n"


def parse_export(text: str, *, file: str) -> list[AgentVersion]:
    """Reads the TOML of one version or the document of `render_export`, oldest first."""
    if not text.lstrip().startswith("{"):
        return [parse_version(text, file=file)]
    try:
        document = json.loads(text)
        versions = [str(each) for each in document["versions"]]
        if document["metier-agent"] != 1 or not versions:
            raise ValueError("another kind of file")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file!r} is not an exported agent", hint="create one with `metier agent export`") from error
    return [parse_version(each, file=file) for each in versions]


class _FieldError(Exception):
    """Names the key."""


def _version(table: Mapping[str, Any]) -> AgentVersion:
    unknown = table.keys() - {each.name for each in fields(Agent)} - {"version", "created", "change"}
    if unknown:
        raise _FieldError(f"the unknown key {min(unknown)!r}")
    number, created = table.get("version", 0), table.get("created", datetime.fromtimestamp(0, UTC))
    if not isinstance(number, int) or not isinstance(created, datetime):
        raise _FieldError("version or created")
    texts = {name: table.get(name, "") for name in ("name", *_TEXTS)}
    skills, variables = table.get("skills"), table.get("variables", {})
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    if skills is not None and not (isinstance(skills, list) and all(isinstance(ref, str) for ref in skills)):
        wrong.append("skills")
    if not isinstance(variables, dict) or not all(isinstance(value, str) for value in variables.values()):
        wrong.append("variables")
    if wrong:
        raise _FieldError(wrong[0])
    agent = Agent(**texts, skills=None if skills is None else tuple(skills), variables=variables)
    return AgentVersion(number=number, created=created, change=str(table.get("change", "")), agent=agent)


def rename_agent(version: AgentVersion, name: str) -> AgentVersion:
    return replace(version, agent=replace(version.agent, name=name))


def _body(agent: Agent) -> str:
    return "\n".join(_lines(agent)) + "\n"


def _lines(agent: Agent) -> Iterator[str]:
    yield f"name = {_text(agent.name)}"
    for name in _TEXTS:
        value = getattr(agent, name)
        if value:
            yield f"{name} = {_text(value)}"
    if agent.skills == ():
        yield "skills = []"
    if agent.skills:
        yield "skills = ["
        yield from (f"    {_text(ref)}," for ref in agent.skills)
        yield "]"
    if agent.variables:
        yield "\n[variables]"
        yield from (f"{name} = {_text(value)}" for name, value in agent.variables.items())


def _text(value: str) -> str:
    """A TOML string. Text of several lines stays readable and easy to compare."""
    escaped = value.replace("\\", "\\\\")
    escaped = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", lambda char: f"\\u{ord(char[0]):04x}", escaped)
    if "\n" not in value:
        return '"' + escaped.replace('"', '\\"').replace("\t", "\\t") + '"'
    # A single quote needs no escape there, and backslashes are hard to read.
    return '"""\n' + re.sub(r'"(?="|\Z)', '\\\\"', escaped) + '"""'
