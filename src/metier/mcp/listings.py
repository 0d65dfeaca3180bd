"""What other MCP servers offered when they were last asked: all that a catalog ever looks at.

Asking takes a network, and a catalog never waits for one. So `metier mcp refresh` asks, and leaves the answers in one
small file. An answer counts only for the very server that gave it: whoever changes where a name leads starts anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from metier.catalog import Source, SourceOffers
from metier.errors import ConfigError, MetierError
from metier.sources import file_lock, replace_text
from metier.spec import Json

from .remote_skill import RemoteSkill, labelled, offer_of_remote, read_entry

__all__ = ["CachedListing", "Listings", "RemoteServer", "ServerListing", "read_servers"]

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
        """What it is, without its secrets."""
        return self.url or json.dumps([self.command, *self.arguments])

    def headers(self, environment: Mapping[str, str]) -> dict[str, str]:
        if not self.auth:
            return {}
        where = f"skills.mcp.{self.name}"
        scheme, _, secret = self.auth.partition(":")
        if scheme.lower() != "bearer" or not secret:
            raise ConfigError("auth is of no kind that is known", file=where, hint='write auth = "bearer:${VARIABLE}"')

        def value(match: re.Match[str]) -> str:
            if not environment.get(match[1]):
                raise ConfigError(f"auth needs the environment variable {match[1]}, which is not set", file=where,
                                hint=f"export {match[1]}=… and try again")  # fmt: skip
            return environment[match[1]]

        return {"Authorization": f"Bearer {_VARIABLE.sub(value, secret).strip()}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedListing:
    """One server's answer."""

    identity: str
    fetched: str
    entries: tuple[Json, ...]
    """As they came; read again, and checked again, whenever they are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """A server, and what is known of its skills."""

    server: RemoteServer
    skills: tuple[RemoteSkill, ...] = ()
    problems: tuple[str, ...] = ()
    """Entries that were not taken, and why."""
    fetched: str = ""
    """Empty where it was never asked."""


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
        """Forget servers that nobody has configured any more."""
        with file_lock(self.file):
            known = self._read()
            kept = {name: listing for name, listing in known.items() if name in names}
            if kept != known:
                self._write(kept)

    def _read(self) -> dict[str, CachedListing]:
        try:
            with open(self.file, encoding="utf-8") as stream:
                body = json.load(stream)
            if body["version"] != _VERSION:
                return {}
            return {
                str(name): CachedListing(
                    identity=str(row["identity"]), fetched=str(row["fetched"]), entries=tuple(row["entries"])
                )
                for name, row in body["servers"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # It is only a cache: broken, it costs a refresh.
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
        raise ConfigError(f"{name!r} cannot name a server", file=where, hint="use lowercase letters, digits and hyphens")
    unknown = sorted(fields.keys() - {"command", "args", "env", "url", "auth", "enabled"})
    if unknown:
        raise ConfigError(
            f"there is no {unknown[0]!r} here", file=where, hint="it takes command, args, env, url, auth and enabled"
        )
    command, url, auth = fields.get("command", ""), fields.get("url", ""), fields.get("auth", "")
    arguments, variables, enabled = fields.get("args", []), fields.get("env", {}), fields.get("enabled", True)
    texts = all(isinstance(text, str) for text in (command, url, auth))
    if not texts or not isinstance(enabled, bool) or bool(command) == bool(url):
        raise ConfigError("a server has either a command or a url", file=where, hint='such as url = "https://…/mcp"')
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
        raise ConfigError("args is not a list of texts", file=where, hint='such as args = ["serve"]')
    if not isinstance(variables, dict) or not all(isinstance(text, str) for text in variables.values()):
        raise ConfigError("env is not a table of texts", file=where, hint='such as env = { LEVEL = "1" }')
    if url and not (url.startswith("https://") or _LOOPBACK.match(url)):
        raise ConfigError(f"{url!r} is not protected on its way", file=where, hint="use https://, or http:// on this machine")
    return RemoteServer(
        name=name, command=command, arguments=tuple(arguments), environment=dict(variables), url=url, auth=auth, enabled=enabled
    )
