"""Resolves hosts, decides whether a redirect may lead there, and selects proxies."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Mapping

from metier.errors import RefusedError
from metier.install.refs.forges import Address
from metier.values import dataclass

__all__ = ["NetworkRoute", "Resolve", "is_loopback", "literal_zone", "proxy_for", "resolve", "route_to"]

Resolve = Callable[[str, int], tuple[str, ...]]
"""Returns the IP addresses of a host name, best first."""

_PORTS = {"http": 80, "https": 443, "ssh": 22, "git": 9418}


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRoute:
    zone: str
    """`public`, `private`, `loopback`, `proxy`, or `odd`: link-local (cloud metadata), multicast, or mixed."""
    addresses: tuple[str, ...]
    proxied: bool = False


def resolve(host: str, port: int) -> tuple[str, ...]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def route_to(address: Address, before: NetworkRoute | None, ask: Resolve) -> NetworkRoute:
    """Returns the route to `address`. `before` is the route to the server that redirects; None if the user named the address.

    Raises RefusedError for a redirect into an internal network.
    """
    addresses = ask(address.host.strip("[]"), address.port or _PORTS[address.scheme])
    zones = {_zone(one) for one in addresses}
    here = NetworkRoute(zone=zones.pop() if len(zones) == 1 else "odd", addresses=addresses)
    if before is None or before.proxied or here.zone == "public" or (here.zone == before.zone != "odd"):
        return here
    raise RefusedError(
        f"a server redirects to {address.host}, which is in a {here.zone} network",
        rule="redirect-inside",
        hint="if the skill is there, install it from that address",
    )


def proxy_for(address: Address, environment: Mapping[str, str]) -> str:
    """Returns the proxy for an address from the environment, with the rules of curl; empty for none."""
    # HTTP_PROXY can be set by a request's `Proxy:` header (httpoxy), so only http_proxy counts.
    names = (f"{address.scheme}_proxy", "all_proxy", *(("HTTPS_PROXY", "ALL_PROXY") if address.scheme == "https" else ()))
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    if not proxy or is_loopback(address.host):
        return ""
    for entry in (environment.get("no_proxy") or environment.get("NO_PROXY") or "").split(","):
        suffix = entry.strip().lower().lstrip(".")
        if suffix == "*" or (suffix and (address.host == suffix or address.host.endswith(f".{suffix}"))):
            return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def literal_zone(host: str) -> str:
    """Returns the zone of a host that is written as an IP address; empty for a name."""
    try:
        return _zone(host.strip("[]"))
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _zone(text: str) -> str:
    ip = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        # An embedded IPv4 address decides.
        inner = ip.ipv4_mapped or ip.sixtofour or (ipaddress.ip_address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        ip = inner or ip
    if ip.is_loopback:
        return "loopback"
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified or str(ip) == "fd00:ec2::254":
        return "odd"
    return "public" if ip.is_global else "private"


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
