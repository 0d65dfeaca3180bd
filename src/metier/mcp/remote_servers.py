"""The MCP servers whose skills are used: what they offered, and the way to what is in it.

Nothing here speaks to a server before a file is read that is not kept yet.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metier.catalog import Entry, SourceOffers
from metier.errors import NotFoundError, UnavailableError

from .listings import Listings, read_servers
from .remote_files import RemoteSkillFiles

if TYPE_CHECKING:
    from .connections import Connections

__all__ = ["RemoteServers", "needs_sdk"]


class RemoteServers:
    def __init__(self, table: object, *, cache: str, environment: Mapping[str, str]) -> None:
        """`table` is `skills.mcp` of a configuration; `cache` a folder in which nobody looks for skills."""
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
        """The files of a skill; those that are needed are fetched, unless offline."""
        for server in self.servers:
            for skill in self.listings.of(server).skills if server.enabled else ():
                if skill.folder == entry.folder:
                    fetch = None if offline else lambda name, uri: self.connections.read(name, uri)
                    return RemoteSkillFiles(skill, cache=self._cache, fetch=fetch)
        raise NotFoundError(f"no server lists {entry.name!r} any more", hint="see `metier mcp list`")


def needs_sdk() -> UnavailableError:
    return UnavailableError("MCP needs packages that are not installed", hint="pip install 'metier[mcp]'", retryable=False)
