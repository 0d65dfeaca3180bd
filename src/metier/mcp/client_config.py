"""Adds a server to the configuration of an MCP client.

Only the server's own entry changes; comments and all other entries stay, and a backup of the file is kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from metier.errors import ConfigError, ConflictError, MetierError
from metier.install import HostFileChange, JsoncError, read_host_file, read_jsonc, with_member
from metier.sources import find_command
from metier.spec import Json
from metier.values import dataclass

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

__all__ = [
    "ClientName", "ConfigFile", "ConfigScope", "ServerCommand", "config_file_of", "configured_servers", "metier_server",
    "plan_change",
]  # fmt: skip

_OURS = frozenset({"metier", "metier.exe"})
_BYTE_ORDER_MARK = "\ufeff"


class ClientName(StrEnum):
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"


class ConfigScope(StrEnum):
    USER = "user"
    """In all of the user's projects."""
    PROJECT = "project"
    """In one folder; the file is meant to be committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """A server that a client should start."""

    name: str
    command: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    file: str
    table: str
    """The key of the table that holds the servers by name."""
    typed: bool = False
    """Returns True if an entry has `type = "stdio"`."""
    inside: str | None = None
    """The project of the file, which no link may leave; None for the user's own file."""

    @property
    def is_toml(self) -> bool:
        return self.file.endswith(".toml")

    def entry(self, server: ServerCommand) -> dict[str, str | list[str]]:
        entry: dict[str, str | list[str]] = {"type": "stdio"} if self.typed else {}
        return entry | {"command": server.command, "args": list(server.arguments)}


def plan_change(place: ConfigFile, server: ServerCommand) -> HostFileChange:
    """Returns the change that adds the server. Other keys of an existing entry stay."""
    before = read_host_file(place.file, place.inside)
    write = _in_toml if place.is_toml else _in_json
    return HostFileChange(file=place.file, before=before, after=write(place, server, before or ""), inside=place.inside)


def _in_json(place: ConfigFile, server: ServerCommand, before: str) -> str:
    mark, text = (_BYTE_ORDER_MARK, before[1:]) if before.startswith(_BYTE_ORDER_MARK) else ("", before)
    try:
        document = read_jsonc(text)
        known = document.get(place.table) if isinstance(document, dict) else None
        present = known.get(server.name) if isinstance(known, dict) else None
        _check(place, server, present)
        for key, value in place.entry(server).items():
            if not isinstance(present, dict) or present.get(key) != value:
                wanted: Json = list(value) if isinstance(value, list) else value
                text = with_member(text, (place.table, server.name, key), wanted)
    except JsoncError as error:
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
    """Raises ConflictError if the name is taken by another server."""
    if present is None:
        return
    command = present.get("command") if isinstance(present, dict) else None
    arguments = present.get("args") if isinstance(present, dict) else None
    words = [command, *(arguments if isinstance(arguments, list) else [])]
    if not any(isinstance(word, str) and os.path.basename(word) in _OURS for word in words):
        raise ConflictError(
            f"{place.file} has a server {server.name!r} that is not metier", hint="choose another name with --name"
        )


def metier_server(name: str, arguments: tuple[str, ...], scope: ConfigScope) -> ServerCommand:
    """Returns the command that starts metier. It is an absolute path, except in a project, which others share."""
    if scope is ConfigScope.PROJECT:
        return ServerCommand(name=name, command="metier", arguments=arguments)
    # Absolute, because a client that is started from a desktop has another PATH than a shell.
    beside = os.path.join(os.path.dirname(sys.executable), "metier")
    found = find_command(beside) or find_command("metier")
    if found is None:
        return ServerCommand(name=name, command=sys.executable, arguments=("-m", "metier", *arguments))
    return ServerCommand(name=name, command=os.path.abspath(found), arguments=arguments)


def config_file_of(
    client: ClientName, scope: ConfigScope, *, home: str, folder: str, environment: Mapping[str, str]
) -> ConfigFile:
    join = os.path.join
    match client, scope:
        case ClientName.CLAUDE_CODE, ConfigScope.USER:
            # CLAUDE_CONFIG_DIR moves the file into that folder.
            chosen = environment.get("CLAUDE_CONFIG_DIR") or home
            return ConfigFile(file=join(chosen, ".claude.json"), table="mcpServers", typed=True)
        case ClientName.CLAUDE_CODE, _:
            return ConfigFile(file=join(folder, ".mcp.json"), table="mcpServers", typed=True)
        case ClientName.CURSOR, _:
            return ConfigFile(
                file=join(home if scope is ConfigScope.USER else folder, ".cursor", "mcp.json"), table="mcpServers"
            )
        case ClientName.VSCODE, ConfigScope.USER:
            return ConfigFile(file=join(_code_folder(home, environment), "mcp.json"), table="servers", typed=True)
        case ClientName.VSCODE, _:
            return ConfigFile(file=join(folder, ".vscode", "mcp.json"), table="servers", typed=True)
        case ClientName.CODEX, ConfigScope.USER:
            return ConfigFile(
                file=join(environment.get("CODEX_HOME") or join(home, ".codex"), "config.toml"), table="mcp_servers"
            )
        case _:
            return ConfigFile(file=join(folder, ".codex", "config.toml"), table="mcp_servers")


def configured_servers(*, home: str, folder: str, environment: Mapping[str, str]) -> frozenset[str]:
    """Returns the names of the servers in the configuration of every known client. A file that cannot be read has none."""
    found: set[str] = set()
    for client in ClientName:
        for scope in ConfigScope:
            place = config_file_of(client, scope, home=home, folder=folder, environment=environment)
            found |= _server_names(place)
    return frozenset(found)


def _server_names(place: ConfigFile) -> set[str]:
    import tomllib

    try:
        text = (read_host_file(place.file, None) or "").lstrip(_BYTE_ORDER_MARK)
        value: object = {}
        if text.strip():
            value = tomllib.loads(text) if place.file.endswith(".toml") else read_jsonc(text)
    except (OSError, ValueError, JsoncError, MetierError):
        return set()
    table = value.get(place.table) if isinstance(value, dict) else None
    return set(table) if isinstance(table, dict) else set()


def _code_folder(home: str, environment: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "Code", "User")
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "Code", "User")
