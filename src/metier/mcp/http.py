"""Who may reach a server over HTTP. A mistake here is told before anything is started."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from metier.errors import RefusedError, UsageError

__all__ = ["HttpOptions"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    host: str = "127.0.0.1"
    port: int = 8642
    """0 takes any that is free."""
    token: str | None = None
    hosts: tuple[str, ...] = ()
    """More names by which clients may call this server, as behind a proxy: host or host:port."""
    origins: tuple[str, ...] = ()
    """Web pages that may call it: https://example.com."""

    def __post_init__(self) -> None:
        if self.token is None and not _is_loopback(self.host):
            raise RefusedError(
                f"{self.host} can be reached from other machines, and no token protects it", rule="mcp-token",
                hint="set METIER_MCP_TOKEN, or stay on 127.0.0.1",
            )  # fmt: skip
        if self.token is not None and (len(self.token) < 16 or not self.token.isascii() or not self.token.isprintable()):
            raise UsageError("the token is too short, or not plain text", hint="such as the output of `openssl rand -hex 32`")

    @property
    def allowed_hosts(self) -> list[str]:
        name = f"[{self.host}]" if ":" in self.host else self.host
        names = (*_LOOPBACK, *(() if _is_any(self.host) else (name,)), *self.hosts)
        return [form for each in dict.fromkeys(names) for form in (each, f"{each}:*")]

    @property
    def allowed_origins(self) -> list[str]:
        own = [f"http://{each}{port}" for each in _LOOPBACK for port in ("", ":*")]
        return [*own, *self.origins]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
