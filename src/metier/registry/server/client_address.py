"""The address of a client, also behind proxies.

`X-Forwarded-For` is a claim that any client can make. It is read only if the connection comes from a proxy that the
administrator named, and from the right: each trusted proxy appended the address that it saw, so the first address that is not
a trusted proxy is the client. Anything further left was sent by the client itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from metier.errors import UsageError

from .responses import Scope

__all__ = ["TrustedProxies", "limit_key"]

_IPV6_CLIENT_BITS = 64


class TrustedProxies:
    """Addresses and networks of proxies: `10.0.0.5`, `10.0.0.0/8`, `::1`."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._networks = tuple(map(_network, named))

    def __contains__(self, address: str) -> bool:
        if not self._networks:
            return False
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)

    def client(self, scope: Scope) -> str:
        """Returns the address of the client that made a request."""
        client = scope.get("client")
        address: str = client[0] if client else ""
        if address not in self:
            return address
        for hop in reversed(_values(scope, b"x-forwarded-for")):
            try:
                address = str(ip_address(hop))
            except ValueError:
                return address
            if address not in self:
                return address
        return address

    def scheme(self, scope: Scope) -> str:
        """Returns `https` if a trusted proxy says that the client used it."""
        client = scope.get("client")
        if client and client[0] in self:
            stated = _values(scope, b"x-forwarded-proto")
            if stated and stated[-1] in ("http", "https"):
                return stated[-1]
        scheme: str = scope["scheme"]
        return scheme

    def request_id(self, scope: Scope) -> str:
        """Returns the id that a trusted proxy gave to a request, or an empty text."""
        client = scope.get("client")
        stated = _values(scope, b"x-request-id") if client and client[0] in self else ()
        return stated[-1] if stated else ""


def limit_key(address: str) -> str:
    """Returns the part of an address that limits count by: one client usually has a whole IPv6 network of 64 bits."""
    if ":" not in address:
        return address
    try:
        return str(ip_network((address.partition("%")[0], _IPV6_CLIENT_BITS), strict=False))
    except ValueError:
        return address


def _values(scope: Scope, header: bytes) -> Sequence[str]:
    joined = b",".join(value for name, value in scope["headers"] if name == header)
    return [part.strip() for part in joined.decode("latin-1").split(",")] if joined else []


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise UsageError(
            f"invalid proxy address {text[:80]!r}", hint="use an address or a network, such as 10.0.0.5 or 10.0.0.0/8"
        ) from None
