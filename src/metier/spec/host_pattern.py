"""Host patterns: `api.github.com`, `*.example.org:443`, `localhost:8080`, `192.0.2.7`, `[2001:db8::1]:443`.

A pattern without a port covers 80 and 443. A wildcard stands for one or more whole labels at the start, and needs two labels
after it: no pattern covers every host, or a whole top-level domain. Names are compared in ASCII, without a final dot.
"""

from __future__ import annotations

import ipaddress
import re

from metier.errors import UsageError
from metier.values import dataclass

__all__ = ["DEFAULT_PORTS", "HostPattern", "clean_host", "host_problem", "parse_host"]

DEFAULT_PORTS = (80, 443)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_WILDCARD = re.compile(rf"\*\.{_LABEL}(?:\.{_LABEL})+")
# 2130706433, 0x7f.1 and 127.1 are addresses for libc, and names for a list.
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*")
_LONGEST = 253
_HINT = "write api.example.com, *.example.com, example.com:8443 or an address"


@dataclass(frozen=True, slots=True)
class HostPattern:
    name: str
    """A name, an address, or `*.` and a name."""
    port: int | None = None

    def __str__(self) -> str:
        host = f"[{self.name}]" if ":" in self.name else self.name
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def ports(self) -> tuple[int, ...]:
        return DEFAULT_PORTS if self.port is None else (self.port,)

    def covers_name(self, host: str) -> bool:
        """`host` comes from `clean_host`."""
        if self.name.startswith("*."):
            return host.endswith(self.name[1:]) and len(host) > len(self.name) - 1
        return host == self.name

    def covers(self, host: str, port: int) -> bool:
        return port in self.ports and self.covers_name(host)

    def covers_pattern(self, other: HostPattern) -> bool:
        """Returns True if this pattern covers everything that the other one does."""
        ports = self.port is None if other.port is None else other.port in self.ports
        name = other.name.removeprefix("*.")
        wider = self.name.startswith("*.") and (name.endswith(self.name[1:]) or name == self.name[2:])
        return ports and (self.name == other.name or (wider if other.name.startswith("*.") else self.covers_name(other.name)))


def parse_host(text: str) -> HostPattern:
    """Returns the pattern, or raises UsageError."""
    problem = host_problem(text)
    if problem:
        raise UsageError(f"{text[:80]!r} is not a host: {problem}", hint=_HINT)
    name, port = _split(text.strip())
    return HostPattern(name if name.startswith("*.") else clean_host(name) or name, int(port) if port else None)


def host_problem(text: str) -> str:
    """Returns why the text is not a host pattern; empty if it is one."""
    name, port = _split(text.strip())
    if "://" in text or "/" in text or "@" in text:
        return "name the host alone, without https:// and a path"
    if port and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        return f"{port[:20]!r} is not a port"
    if name in ("*", "**", "*.*"):
        return "a grant for every host is not possible"
    if "*" in name:
        return "" if _WILDCARD.fullmatch(name.lower()) else "a wildcard stands at the start, before two names: *.example.com"
    return "" if clean_host(name) else "it is neither a name nor an address"


def clean_host(text: str) -> str:
    """Returns a host as it is compared: lower case, ASCII, addresses in their usual form. Empty for anything else."""
    bare = text.removeprefix("[").removesuffix("]").removesuffix(".").lower()
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    if not bare.isascii():
        try:
            bare = bare.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    is_name = len(bare) <= _LONGEST and _NAME.fullmatch(bare) and not _NUMERIC.fullmatch(bare)
    return bare if is_name else ""


def _split(text: str) -> tuple[str, str]:
    if text.startswith("["):
        name, _, rest = text[1:].partition("]")
        return name, rest.removeprefix(":")
    if text.count(":") > 1:
        return text, ""
    name, _, port = text.partition(":")
    return name, port
