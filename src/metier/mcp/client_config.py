"""Writing a server into a client's configuration: once, with the old file kept, and nothing else of it touched."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from metier.errors import ConfigError, ConflictError
from metier.sources import file_lock, replace_bytes
from metier.spec import Json

from . import jsonc
from .clients import ConfigFile, ServerCommand

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = ["ConfigChange", "apply_change", "plan_change"]

_OURS = frozenset({"metier", "metier.exe"})
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """What a client's file will be."""

    file: str
    before: str | None
    """None where there is no file yet."""
    after: str

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


def plan_change(place: ConfigFile, server: ServerCommand) -> ConfigChange:
    """The change that brings the server in; none where it is there already. What else an entry says, stays."""
    before = _text(place.file)
    write = _in_toml if place.is_toml else _in_json
    return ConfigChange(file=place.file, before=before, after=write(place, server, before or ""))


def apply_change(change: ConfigChange, *, now: datetime, lock: str) -> str | None:
    """Write it; returns where the old file is kept. Conflict if somebody else has written meanwhile.

    `lock` is a file of ours: a client's folder is not ours to leave things in.
    """
    if not change.is_needed:
        return None
    with file_lock(lock):
        if _text(change.file) != change.before:
            raise ConflictError(f"{change.file} was changed meanwhile", hint="run the command again")
        backup = _backup(change, now)
        replace_bytes(change.file, change.after.encode(), mode=0o644)
    return backup


def _backup(change: ConfigChange, now: datetime) -> str | None:
    if change.before is None:
        return None
    backup = f"{change.file}.{now:%Y%m%d-%H%M%S}.bak"
    # It may hold secrets: whoever may not read the file may not read its copy.
    replace_bytes(backup, change.before.encode(), mode=stat.S_IMODE(os.stat(change.file).st_mode))
    return backup


def _text(file: str) -> str | None:
    try:
        with open(file, "rb") as stream:
            return stream.read().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8", file=file, hint="fix it by hand first; nothing was changed") from error


def _in_json(place: ConfigFile, server: ServerCommand, before: str) -> str:
    mark, text = (_MARK, before[1:]) if before.startswith(_MARK) else ("", before)
    try:
        document = jsonc.read(text)
        known = document.get(place.table) if isinstance(document, dict) else None
        present = known.get(server.name) if isinstance(known, dict) else None
        _check(place, server, present)
        for key, value in place.entry(server).items():
            if not isinstance(present, dict) or present.get(key) != value:
                wanted: Json = list(value) if isinstance(value, list) else value
                text = jsonc.with_member(text, (place.table, server.name, key), wanted)
    except jsonc.JsoncError as error:
        raise ConfigError(f"not JSON: {error}", file=place.file, hint="fix it by hand first; nothing was changed") from error
    return mark + text


def _in_toml(place: ConfigFile, server: ServerCommand, before: str) -> str:
    # Imported here: only one of the four clients needs it.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(before)
    except TOMLKitError as error:
        raise ConfigError(f"not TOML: {error}", file=place.file, hint="fix it by hand first; nothing was changed") from error
    table = _toml_entry(document, place, server)
    for key, value in place.entry(server).items():
        if table.get(key) != value:
            table[key] = value
    return tomlkit.dumps(document)


def _toml_entry(
    document: TOMLDocument, place: ConfigFile, server: ServerCommand
) -> dict[str, Any]:  # Any: whatever stands there
    import tomlkit

    servers: Any = document.get(place.table)
    if servers is None:
        document[place.table] = tomlkit.table(is_super_table=True)
        servers = document[place.table]
    if not isinstance(servers, dict):
        raise ConfigError(f"{place.table} is not a table", file=place.file, hint="fix it by hand first; nothing was changed")
    _check(place, server, servers.get(server.name))
    if server.name not in servers:
        servers[server.name] = tomlkit.table()
    entry: dict[str, Any] = servers[server.name]
    return entry


def _check(place: ConfigFile, server: ServerCommand, present: object) -> None:
    """An entry of that name that starts something else is somebody's, and not ours to change."""
    if present is None:
        return
    command = present.get("command") if isinstance(present, dict) else None
    arguments = present.get("args") if isinstance(present, dict) else None
    words = [command, *(arguments if isinstance(arguments, list) else [])]
    if not any(isinstance(word, str) and os.path.basename(word) in _OURS for word in words):
        raise ConflictError(
            f"{place.file} has a server {server.name!r} that is not metier", hint="choose another name with --name"
        )
