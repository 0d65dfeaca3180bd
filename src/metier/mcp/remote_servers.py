"""Other MCP servers whose skills are used: their configuration, their cached listings, and the files of their skills.

A catalog never waits for a network. `metier mcp refresh` fetches the listings into one small file, and the catalog reads
that file. A listing is bound to the command or URL it came from: after a change of either, the server must be asked again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from metier.catalog import Entry, Source, SourceOffers
from metier.errors import ConfigError, MetierError, NotFoundError, UnavailableError
from metier.extras import MissingExtraError
from metier.sources import file_lock, read_regular, replace_text
from metier.spec import Json
from metier.values import dataclass, field

from .remote_files import RemoteSkillFiles
from .remote_skill import RemoteSkill, labelled, offer_of_remote, read_entry

if TYPE_CHECKING:
    from .connections import Connections

__all__ = [
    "HOW_TO_CONFIGURE",
    "CachedListing",
    "Listings",
    "RefreshResult",
    "RemoteServer",
    "RemoteServers",
    "ServerListing",
    "needs_sdk",
    "read_servers",
]

HOW_TO_CONFIGURE = "add [skills.mcp.NAME] with a command or a url to the configuration; see `metier config path`"
_VERSION = 1
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteServer:
    """One `[skills.mcp.NAME]`: a program that is started, or an address."""

    name: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    auth: str = ""
    """`bearer:…`, in which `${VARIABLE}` stands for the environment's value."""
    enabled: bool = True

    @property
    def identity(self) -> str:
        """The URL or command line, without secrets."""
        return self.url or json.dumps([self.command, *self.arguments])

    def headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        if not self.auth:
            return {}
        where = f"skills.mcp.{self.name}"
        scheme, _, secret = self.auth.partition(":")
        if scheme.lower() != "bearer" or not secret:
            raise ConfigError("unknown kind of auth", file=where, hint='write auth = "bearer:${VARIABLE}"')

        def value(match: re.Match[str]) -> str:
            if not environment.get(match[1]):
                raise ConfigError(f"auth needs the environment variable {match[1]}, which is not set", file=where,
                                hint=f"export {match[1]}=… and try again")  # fmt: skip
            return environment[match[1]]

        return {"Authorization": f"Bearer {_VARIABLE.sub(value, secret).strip()}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedListing:
    """One server's listing, as it is cached."""

    identity: str
    fetched: str
    entries: tuple[Json, ...]
    """As the server sent them; they are parsed and checked on every use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """A server and the skills of its last listing."""

    server: RemoteServer
    skills: tuple[RemoteSkill, ...] = ()
    problems: tuple[str, ...] = ()
    """Entries that were rejected, and why."""
    fetched: str = ""
    """Empty if the server was never asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult:
    listings: tuple[ServerListing, ...]
    failed: Mapping[str, MetierError]
    """By server."""


class Listings:
    def __init__(self, file: str) -> None:
        self.file = file

    def of(self, server: RemoteServer) -> ServerListing:
        listing = self._read().get(server.name)
        if listing is None or listing.identity != server.identity:
            return ServerListing(server=server)
        skills: list[RemoteSkill] = []
        problems: list[str] = []
        for entry in listing.entries:
            try:
                skills.append(read_entry(server.name, entry))
            except MetierError as error:
                problems.append(str(error))
        seen: dict[str, RemoteSkill] = {}
        for skill in skills:
            if skill.uri in seen:
                problems.append(f"the MCP server {server.name!r} lists {skill.uri} twice")
            seen.setdefault(skill.uri, skill)
        return ServerListing(
            server=server, skills=labelled(tuple(seen.values())), problems=tuple(problems), fetched=listing.fetched
        )

    def offers(self, servers: Sequence[RemoteServer]) -> list[SourceOffers]:
        asked = [self.of(server) for server in servers if server.enabled]
        return [SourceOffers(Source.MCP, [offer_of_remote(skill) for skill in each.skills]) for each in asked if each.skills]

    def keep(self, server: RemoteServer, entries: Sequence[Json], *, now: datetime) -> ServerListing:
        listing = CachedListing(identity=server.identity, fetched=now.isoformat(timespec="seconds"), entries=tuple(entries))
        with file_lock(self.file):
            self._write({**self._read(), server.name: listing})
        return self.of(server)

    def keep_only(self, names: Container[str]) -> None:
        """Removes the listings of servers that are no longer configured."""
        with file_lock(self.file):
            known = self._read()
            kept = {name: listing for name, listing in known.items() if name in names}
            if kept != known:
                self._write(kept)

    def _read(self) -> dict[str, CachedListing]:
        try:
            body = json.loads(read_regular(self.file))
            if body["version"] != _VERSION:
                return {}
            return {
                str(name): CachedListing(
                    identity=str(row["identity"]), fetched=str(row["fetched"]), entries=tuple(row["entries"])
                )
                for name, row in body["servers"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # It is only a cache; a broken one is the same as none.
            return {}

    def _write(self, listings: Mapping[str, CachedListing]) -> None:
        rows = {
            name: {"identity": each.identity, "fetched": each.fetched, "entries": list(each.entries)}
            for name, each in sorted(listings.items())
        }
        replace_text(self.file, json.dumps({"version": _VERSION, "servers": rows}) + "\n")


def read_servers(table: object) -> tuple[RemoteServer, ...]:
    """The servers of a configuration's `skills.mcp` table."""
    return tuple(_server(str(name), value) for name, value in (table.items() if isinstance(table, dict) else ()))


def _server(name: str, value: object) -> RemoteServer:
    where = f"skills.mcp.{name}"
    fields = value if isinstance(value, dict) else {}
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ConfigError(f"{name!r} is not a server name", file=where, hint="use lowercase letters, digits and hyphens")
    command, url, auth = fields.get("command", ""), fields.get("url", ""), fields.get("auth", "")
    arguments, variables, enabled = fields.get("args", []), fields.get("env", {}), fields.get("enabled", True)
    texts = all(isinstance(text, str) for text in (command, url, auth))
    if not texts or not isinstance(enabled, bool) or bool(command) == bool(url):
        raise ConfigError("a server has either a command or a url", file=where, hint='such as url = "https://…/mcp"')
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise ConfigError("args is not a list of strings", file=where, hint='such as args = ["serve"]')
    if not isinstance(variables, dict) or not all(isinstance(text, str) for text in variables.values()):
        raise ConfigError("env is not a table of strings", file=where, hint='such as env = { LEVEL = "1" }')
    if url and not (url.startswith("https://") or _LOOPBACK.match(url)):
        raise ConfigError(f"{url!r} is not encrypted", file=where, hint="use https://, or http:// on this machine")
    return RemoteServer(
        name=name, command=command, arguments=tuple(arguments), environment=dict(variables), url=url, auth=auth, enabled=enabled
    )


class RemoteServers:
    def __init__(self, table: object, *, cache: str, environment: Mapping[str, str]) -> None:
        """`table` is the setting `skills.mcp`; `cache` is a folder that is not searched for skills."""
        self.servers = read_servers(table)
        self.listings = Listings(os.path.join(cache, "listings.json"))
        self._cache, self._environment = cache, environment

    def offers(self) -> list[SourceOffers]:
        return self.listings.offers(self.servers)

    @cached_property
    def connections(self) -> Connections:
        # Imported here: the SDK takes most of a second, and nearly every command does without it.
        try:
            from .connections import Connections
        except ImportError as error:
            raise needs_sdk() from error
        return Connections({server.name: server for server in self.servers}, self._environment)

    def files(self, entry: Entry, *, offline: bool = False) -> RemoteSkillFiles:
        """Returns the files of a skill. They are fetched when they are read, unless `offline`."""
        for server in self.servers:
            for skill in self.listings.of(server).skills if server.enabled else ():
                if skill.folder == entry.folder:
                    fetch = None if offline else lambda name, uri: self.connections.read(name, uri)
                    return RemoteSkillFiles(skill, cache=self._cache, fetch=fetch)
        raise NotFoundError(f"no MCP server lists {entry.name!r} any more", hint="see `metier mcp list`")

    def refresh(self, names: Sequence[str] = (), *, now: datetime) -> RefreshResult:
        """Fetches the listings of these servers, by default of all that are enabled.

        A server that fails does not keep the others from being asked; the error is raised only if all of them fail.
        """
        # Imported here: a catalog needs none of it.
        import asyncio

        servers = self._named(names)
        done: list[ServerListing] = []
        failed: dict[str, MetierError] = {}
        for server in servers:
            try:
                done.append(self.listings.keep(server, asyncio.run(_list_entries(server, self._environment)), now=now))
            except MetierError as error:
                failed[server.name] = error
        if failed and not done:
            raise next(iter(failed.values()))
        self.listings.keep_only({server.name for server in self.servers})
        return RefreshResult(listings=tuple(done), failed=failed)

    def _named(self, names: Sequence[str]) -> Sequence[RemoteServer]:
        known = {server.name: server for server in self.servers}
        if not known:
            raise NotFoundError("no MCP server is configured", hint=HOW_TO_CONFIGURE)
        for name in names:
            if name not in known:
                raise NotFoundError(f"unknown MCP server {name!r}", hint=f"configured: {', '.join(known)}")
        return [known[name] for name in names] or [server for server in known.values() if server.enabled]


async def _list_entries(server: RemoteServer, environment: Mapping[str, str]) -> list[Json]:
    try:
        from .connections import list_entries
    except ImportError as error:
        raise needs_sdk() from error
    return await list_entries(server, environment)


def needs_sdk() -> UnavailableError:
    return MissingExtraError("MCP needs packages that are not installed", extra="mcp")
