"""The hosts that a run may reach, and the addresses that they may have."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from metier.spec import HostPattern, parse_host
from metier.values import dataclass

__all__ = ["Address", "GrantedHosts", "embedded_address"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class GrantedHosts:
    """The hosts that a run may reach."""

    patterns: tuple[HostPattern, ...]

    @classmethod
    def of(cls, hosts: Iterable[str]) -> GrantedHosts:
        return cls(tuple(dict.fromkeys(map(parse_host, hosts))))

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(sorted({port for pattern in self.patterns for port in pattern.ports}))

    def covers(self, host: str, port: int) -> bool:
        return any(pattern.covers(host, port) for pattern in self.patterns)

    def covers_name(self, host: str) -> bool:
        return any(pattern.covers_name(host) for pattern in self.patterns)

    def covers_address(self, host: str, address: Address, port: int) -> bool:
        """Decides about an address that a granted host has: a public one, or one that is granted by itself.

        A name that leads to this machine or into a private network is refused, unless it is `localhost` or that address is
        granted too: otherwise the owner of a name could point it at any service beside the user.
        """
        inner = embedded_address(address)
        if inner.is_global and not inner.is_multicast and address.is_global:
            return True
        if inner.is_unspecified or inner.is_multicast:
            return False
        if host == "localhost":
            return inner.is_loopback
        return any(pattern.covers(text, port) for text in {str(address), str(inner)} for pattern in self.patterns)


def embedded_address(address: Address) -> Address:
    """Returns the IPv4 address that an IPv6 one stands for (mapped, 6to4, Teredo, NAT64), or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in ipaddress.ip_network("64:ff9b::/96") or address in ipaddress.ip_network("::/96"):
        low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address if int(address) <= 1 else low
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)
