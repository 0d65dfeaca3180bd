"""The settings by which other agents hide one skill from their model: read, and changed without touching the rest of the file.

| agent | setting | effect |
|---|---|---|
| claude-code | `skillOverrides` in settings.json | `user-invocable-only`: you can still type /name |
| codex | `[[skills.config]]` in config.toml | `enabled = false`: not loaded |
| gemini-cli | `skills.disabled` in settings.json | not loaded |
| github-copilot | `disabledSkills` in settings.json | not loaded |
| opencode | `permission.skill` in opencode.json | `deny`: not listed and not loadable |
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence

from metier.errors import ConfigError
from metier.hosts import HOSTS, HostSkill, expand_folder
from metier.spec import Json
from metier.values import dataclass

from .host_files import HostFileChange, read_host_file
from .jsonc import JsoncError, read_jsonc, with_item, with_member

__all__ = ["SWITCH_FILES", "SkillSwitches", "plan_switch_off", "read_switches"]

_FIX = "fix it by hand first; nothing was changed"
SWITCH_FILES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "claude-code": (("~/.claude/settings.json",), (".claude/settings.json", ".claude/settings.local.json")),
    "codex": (("~/.codex/config.toml",), ()),
    "gemini-cli": (("~/.gemini/settings.json",), (".gemini/settings.json",)),
    "github-copilot": (("~/.copilot/settings.json",), ()),
    "opencode": (("~c/opencode/opencode.json", "~c/opencode/opencode.jsonc"), ("opencode.json", "opencode.jsonc")),
}
"""The user's files, of which the first is written, and those of a project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSwitches:
    """The switches for single skills in an agent's settings."""

    names: frozenset[str] = frozenset()
    """Skills that its model does not see."""
    files: frozenset[str] = frozenset()
    """The same, by their SKILL.md."""
    names_only: frozenset[str] = frozenset()

    def hides(self, skill: HostSkill) -> bool:
        return skill.name in self.names or os.path.realpath(skill.file) in self.files


def read_switches(host: str, *, home: str, environment: Mapping[str, str], project: str | None) -> SkillSwitches:
    hidden: set[str] = set()
    shown: set[str] = set()
    files: set[str] = set()
    names_only: set[str] = set()
    for file, inside in _files(host, home, environment, project):
        document = _read(file, inside)
        for name, word in _words(host, document):
            for group in (hidden, names_only, shown):
                group.discard(name)
            {"off": hidden, "name-only": names_only}.get(word, shown).add(name)
        files |= {os.path.realpath(expand_folder(path, home, environment)) for path in _codex_paths(document, host)}
    return SkillSwitches(names=frozenset(hidden), files=frozenset(files), names_only=frozenset(names_only))


def plan_switch_off(
    host: str, skills: Sequence[HostSkill], *, home: str, environment: Mapping[str, str]
) -> HostFileChange | None:
    """Returns the change of the user's settings that hides these skills; None if the agent documents no such setting."""
    if host not in SWITCH_FILES:
        return None
    places = [expand_folder(text, home, environment, moved=HOSTS[host]) for text in SWITCH_FILES[host][0]]
    file = next((place for place in places if os.path.lexists(place)), places[0])
    before = read_host_file(file, None)
    _read(file, None)
    try:
        after = _with_switches(host, before or "", skills)
    except JsoncError as error:
        raise ConfigError(f"cannot be changed: {error}", file=file, hint=_FIX) from error
    if host == "codex":
        _check_toml(after, file)
    return HostFileChange(file=file, before=before, after=after)


def _with_switches(host: str, text: str, skills: Sequence[HostSkill]) -> str:
    if host == "codex":
        rows = "".join(f"[[skills.config]]\npath = {json.dumps(skill.file)}\nenabled = false\n\n" for skill in skills)
        return f"{text.rstrip()}\n\n{rows}".lstrip() if rows else text
    for skill in skills:
        match host:
            case "claude-code":
                text = with_member(text, ("skillOverrides", skill.name), "user-invocable-only")
            case "gemini-cli":
                text = with_item(text, ("skills", "disabled"), skill.name)
            case "github-copilot":
                text = with_item(text, ("disabledSkills",), skill.name)
            case _:
                text = with_member(text, ("permission", "skill", skill.name), "deny")
    return text


def _files(host: str, home: str, environment: Mapping[str, str], project: str | None) -> Iterable[tuple[str, str | None]]:
    users, projects = SWITCH_FILES.get(host, ((), ()))
    for text in users:
        yield expand_folder(text, home, environment, moved=HOSTS[host]), None
    for text in projects if project else ():
        yield os.path.join(project or "", text), project


def _read(file: str, inside: str | None) -> Mapping[str, Json]:
    text = read_host_file(file, inside)
    if text is None:
        return {}
    if file.endswith(".toml"):
        return _check_toml(text, file)
    try:
        document = read_jsonc(text)
    except JsoncError as error:
        raise ConfigError(f"not JSON: {error}", file=file, hint=_FIX) from error
    return document if isinstance(document, dict) else {}


def _check_toml(text: str, file: str) -> Mapping[str, Json]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {error}", file=file, hint=_FIX) from error


def _words(host: str, document: Mapping[str, Json]) -> Iterable[tuple[str, str]]:
    """Yields each skill with `off`, `name-only` or `on`."""
    match host:
        case "claude-code":
            table = document.get("skillOverrides")
            hiding = {"off", "user-invocable-only"}
        case "opencode":
            permission = document.get("permission")
            table = permission.get("skill") if isinstance(permission, dict) else None
            hiding = {"deny"}
        case "gemini-cli" | "github-copilot":
            skills = document.get("skills")
            disabled = skills.get("disabled") if isinstance(skills, dict) else None
            names = document.get("disabledSkills") if host == "github-copilot" else disabled
            yield from ((name, "off") for name in (names if isinstance(names, list) else ()) if isinstance(name, str))
            return
        case _:
            return
    for name, word in table.items() if isinstance(table, dict) else ():
        yield name, "off" if str(word) in hiding else str(word)


def _codex_paths(document: Mapping[str, Json], host: str) -> Iterable[str]:
    skills = document.get("skills") if host == "codex" else None
    rows = skills.get("config") if isinstance(skills, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("enabled") is False and isinstance(row.get("path"), str):
            yield str(row["path"])
