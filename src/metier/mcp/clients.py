"""Where each client keeps its MCP servers, and how it writes one down."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ClientName", "ConfigScope", "ServerCommand", "config_file_of"]


class ClientName(StrEnum):
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"


class ConfigScope(StrEnum):
    USER = "user"
    """Everywhere this user works."""
    PROJECT = "project"
    """In one folder, for whoever works in it: the file is meant to be committed."""


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
    """The key under which servers are, by name."""
    typed: bool = False
    """Does an entry say that it is a program?"""

    @property
    def is_toml(self) -> bool:
        return self.file.endswith(".toml")

    def entry(self, server: ServerCommand) -> dict[str, str | list[str]]:
        entry: dict[str, str | list[str]] = {"type": "stdio"} if self.typed else {}
        return entry | {"command": server.command, "args": list(server.arguments)}


def config_file_of(
    client: ClientName, scope: ConfigScope, *, home: str, folder: str, environment: Mapping[str, str]
) -> ConfigFile:
    join = os.path.join
    match client, scope:
        case ClientName.CLAUDE_CODE, ConfigScope.USER:
            # A folder of its own holds it where CLAUDE_CONFIG_DIR names one.
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


def _code_folder(home: str, environment: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "Code", "User")
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "Code", "User")
