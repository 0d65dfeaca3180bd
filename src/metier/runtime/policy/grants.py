"""Patterns for hosts and secrets: `Network(*.example.org)`, `Secret(API_KEY)`, `Secret(API_KEY@api.example.org)`.

A pattern for a secret without hosts covers every use of it; with hosts, only a masked use for some of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from metier.errors import UsageError
from metier.spec import HostPattern, parse_host

if TYPE_CHECKING:
    from .patterns import ToolRequest

__all__ = ["GRANT_TOOLS", "NETWORK", "SECRET", "covers_grant", "overlaps_grant", "secret_argument"]

NETWORK, SECRET = "Network", "Secret"
GRANT_TOOLS = frozenset({NETWORK, SECRET})


def secret_argument(name: str, hosts: Iterable[str]) -> str:
    """Returns the argument of a request for a secret: its name, and the hosts that a masked one is for."""
    listed = ",".join(sorted(hosts))
    return f"{name}@{listed}" if listed else name


def covers_grant(argument: str, request: ToolRequest) -> bool:
    """Returns True if the pattern's argument covers the whole request."""
    if request.tool == NETWORK:
        return _covers_hosts(_hosts(argument), _hosts(request.argument))
    name, _, hosts = argument.partition("@")
    wanted_name, _, wanted = request.argument.partition("@")
    if not fnmatchcase(wanted_name, name):
        return False
    return not hosts or (bool(wanted) and _covers_hosts(_hosts(hosts), _hosts(wanted)))


def overlaps_grant(argument: str, request: ToolRequest) -> bool:
    """Returns True if the pattern covers a part of the request: for deny lists. A host without a port is denied on all."""
    if request.tool == NETWORK:
        denied, wanted = _hosts(argument), _hosts(request.argument)
        return any(_overlaps(one, other) for one in denied for other in wanted)
    name, _, hosts = argument.partition("@")
    wanted_name, _, wanted_hosts = request.argument.partition("@")
    if not fnmatchcase(wanted_name, name):
        return False
    return not hosts or any(_overlaps(one, other) for one in _hosts(hosts) for other in _hosts(wanted_hosts))


def _hosts(text: str) -> list[HostPattern]:
    """A text that is no host is left out: it grants nothing, and forbids nothing."""
    found = []
    for part in text.split(","):
        try:
            found.append(parse_host(part))
        except UsageError:
            continue
    return found


def _covers_hosts(given: list[HostPattern], wanted: list[HostPattern]) -> bool:
    return bool(wanted) and all(any(one.covers_pattern(other) for one in given) for other in wanted)


def _overlaps(denied: HostPattern, wanted: HostPattern) -> bool:
    anywhere = HostPattern(wanted.name, denied.port)
    same_port = denied.port is None or denied.port in wanted.ports
    return same_port and (denied.covers_pattern(anywhere) or anywhere.covers_pattern(denied))
