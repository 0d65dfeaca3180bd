"""Values about the network of a run: a connection that was tried, and a secret that the proxy puts in."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from metier.values import dataclass, field

__all__ = ["Connection", "ConnectionDecision", "MaskedSecret", "SecretPlace", "hosts_of"]


class ConnectionDecision(StrEnum):
    """The end of an attempt to connect."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"
    """It was allowed, and the host could not be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A connection that a script made or tried to make, or a name that it tried to resolve (port 53)."""

    host: str
    port: int
    sent: int = 0
    """Bytes from the script to the host, without TLS that the proxy ends."""
    received: int = 0
    decision: ConnectionDecision = ConnectionDecision.ALLOWED
    note: str = ""


def hosts_of(connections: Iterable[Connection], decision: ConnectionDecision) -> tuple[str, ...]:
    """Returns the hosts of the connections that ended so, each once."""
    return tuple(dict.fromkeys(one.host for one in connections if one.decision is decision))


class SecretPlace(StrEnum):
    """A part of a request in which the proxy replaces placeholders."""

    HEADERS = "headers"
    QUERY = "query"
    BODY = "body"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedSecret:
    """A secret that a script never sees: its variable holds a placeholder, which the proxy replaces for these hosts."""

    name: str
    value: str = field(repr=False)
    hosts: tuple[str, ...]
    """Host patterns, as in `ScriptRun.hosts`."""
    places: tuple[SecretPlace, ...] = (SecretPlace.HEADERS,)
