"""Hooks of other agents: where one is written, and the exact text that is added and removed.

A hook is one entry in the agent's own configuration file, or a small plugin file. Everything else in the file stays byte for
byte. The text before the change is recorded in metier's home, so that removing the hook restores it exactly; if the file has
changed since, only our entry is cut out.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from enum import StrEnum

from metier.errors import ConfigError, ConflictError
from metier.hosts import HOSTS, PromptHook, expand_folder
from metier.sources import find_command
from metier.values import dataclass

from .host_files import HostFileChange, read_host_file
from .jsonc import JsoncError, read_jsonc, with_item, with_member, without_item, without_member

__all__ = ["HookPlace", "HookState", "hook_command", "plan_hook", "plan_removal"]

_FIX = "fix it by hand first; nothing was changed"
_PLUGIN = """\
// Written by `metier hook install`; `metier hook uninstall` removes it. Adds the skill that fits a message.
import {{ spawnSync }} from "node:child_process"

const [program, ...words] = {words}

export const Metier = async ({{ directory }}) => ({{
  "chat.message": async (_, output) => {{
    try {{
      const text = output.parts.find((part) => part.type === "text" && !part.synthetic)
      if (!text) return
      const prompt = text.text.replace(/^"([^]*)"\\s*$/, "$1")
      const input = JSON.stringify({{ prompt, cwd: directory, session_id: text.sessionID }})
      const run = spawnSync(program, words, {{ input, encoding: "utf8", timeout: 5000 }})
      const added = run.stdout ? JSON.parse(run.stdout).additionalContext : ""
      if (added) output.parts.push({{ ...text, id: text.id + "m", text: added, synthetic: true }})
    }} catch {{
      // A message is sent unchanged if anything is wrong here.
    }}
  }},
}})
"""


class HookState(StrEnum):
    """The states of our hook in an agent's file."""

    INSTALLED = "installed"
    OTHER_COMMAND = "other command"
    """It has one that starts another installation of metier."""
    MISSING = "not installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPlace:
    """The configuration file of one agent, at user or project level."""

    hook: PromptHook
    file: str
    inside: str | None = None
    """The project of the file; None for the user's own."""

    @classmethod
    def of(cls, hook: PromptHook, *, home: str, environment: Mapping[str, str], project: str | None = None) -> HookPlace:
        if project is not None:
            return cls(hook=hook, file=os.path.join(project, hook.project_file), inside=project)
        host = HOSTS[hook.host]
        return cls(hook=hook, file=expand_folder(hook.user_file, home, environment, moved=host))

    def state(self, command: tuple[str, ...]) -> HookState:
        text = read_host_file(self.file, self.inside)
        if text is None:
            return HookState.MISSING
        if self.hook.is_plugin:
            ours = text == _plugin(command)
            return HookState.INSTALLED if ours else HookState.OTHER_COMMAND if _is_plugin(text) else HookState.MISSING
        entries = _our_entries(self, text)
        if not entries:
            return HookState.MISSING
        wanted = self.hook.entry(shlex.join(command))
        items = _items(self, text)
        return HookState.INSTALLED if any(items[place] == wanted for place in entries) else HookState.OTHER_COMMAND


def hook_command(host: str, *, shared: bool) -> tuple[str, ...]:
    """Returns the command of a hook. It is an absolute path, except in a project's file, which others share."""
    words = ("hook", "run", host)
    if shared:
        return ("metier", *words)
    found = find_command(os.path.join(os.path.dirname(sys.executable), "metier")) or find_command("metier")
    return (os.path.abspath(found), *words) if found else (sys.executable, "-m", "metier", *words)


def plan_hook(place: HookPlace, command: tuple[str, ...]) -> HostFileChange:
    """Returns the change that adds the hook, in place of an earlier one of ours."""
    before = read_host_file(place.file, place.inside)
    if place.hook.is_plugin:
        if before is not None and not _is_plugin(before):
            raise ConflictError(f"{place.file} is not a plugin of metier", hint="move it away, then run the command again")
        return HostFileChange(file=place.file, before=before, after=_plugin(command), inside=place.inside)
    entry = place.hook.entry(shlex.join(command))
    try:
        text = before or ""
        if place.state(command) is HookState.INSTALLED:
            return HostFileChange(file=place.file, before=before, after=before, inside=place.inside)
        text = _without_ours(place, text)
        if place.hook.host in ("cursor", "github-copilot") and "version" not in _document(place, text):
            text = with_member(text, ("version",), 1)
        after = with_item(text, ("hooks", place.hook.event), json.loads(json.dumps(entry)))
    except JsoncError as error:
        raise ConfigError(f"not JSON: {error}", file=place.file, hint=_FIX) from error
    return HostFileChange(file=place.file, before=before, after=after, inside=place.inside)


def plan_removal(place: HookPlace, recorded: HostFileChange | None) -> HostFileChange:
    """Returns the change that removes the hook. `recorded` is the change that added it, if it is known."""
    text = read_host_file(place.file, place.inside)
    unchanged = HostFileChange(file=place.file, before=text, after=text, inside=place.inside)
    if text is None:
        return unchanged
    if recorded is not None and recorded.after == text:
        return HostFileChange(file=place.file, before=text, after=recorded.before, inside=place.inside)
    if place.hook.is_plugin:
        return HostFileChange(file=place.file, before=text, after=None, inside=place.inside) if _is_plugin(text) else unchanged
    try:
        after: str | None = _without_ours(place, text)
        if recorded is not None and recorded.before is None and _document(place, after or "") in ({}, {"version": 1}):
            after = None
    except JsoncError as error:
        raise ConfigError(f"not JSON: {error}", file=place.file, hint=_FIX) from error
    return HostFileChange(file=place.file, before=text, after=after, inside=place.inside)


def _without_ours(place: HookPlace, text: str) -> str:
    entries = _our_entries(place, text)
    if not entries:
        return text
    for position in reversed(entries):
        text = without_item(text, ("hooks", place.hook.event), position)
    # The parts that we made around the entry, if nothing else is in them.
    if not _items(place, text):
        text = without_member(text, ("hooks", place.hook.event))
    return without_member(text, ("hooks",)) if _document(place, text).get("hooks") == {} else text


def _our_entries(place: HookPlace, text: str) -> list[int]:
    return [position for position, item in enumerate(_items(place, text)) if _is_ours(item)]


def _items(place: HookPlace, text: str) -> list[object]:
    hooks = _document(place, text).get("hooks")
    items = hooks.get(place.hook.event) if isinstance(hooks, dict) else None
    return list(items) if isinstance(items, list) else []


def _document(place: HookPlace, text: str) -> dict[str, object]:
    try:
        document = read_jsonc(text)
    except JsoncError as error:
        raise ConfigError(f"not JSON: {error}", file=place.file, hint=_FIX) from error
    if not isinstance(document, dict):
        raise ConfigError("not a JSON object", file=place.file, hint=_FIX)
    return dict(document)


def _is_ours(item: object) -> bool:
    """Returns True for an entry whose only command is `metier hook run`, from whichever installation."""
    if not isinstance(item, dict):
        return False
    inner = item.get("hooks", [item])
    commands = [each.get("command") or each.get("bash") for each in inner if isinstance(each, dict)]
    return len(commands) == 1 and _runs_router(commands[0])


def _runs_router(command: object) -> bool:
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    starts_metier = os.path.basename(words[0]) == "metier" if words[1:3] == ["hook", "run"] else words[1:3] == ["-m", "metier"]
    return len(words) >= 4 and starts_metier and "hook" in words and "run" in words


def _plugin(command: tuple[str, ...]) -> str:
    return _PLUGIN.format(words=json.dumps(list(command)))


def _is_plugin(text: str) -> bool:
    return text.startswith(_PLUGIN.splitlines()[0])
