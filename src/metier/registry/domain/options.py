"""What a registry is told when it starts. Two addresses decide where all is kept; the rest fits a team as it is."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["RequestRates", "ServerOptions"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRates:
    """Requests a minute, from one address and with one token. An installation makes a handful; 0 is no limit.

    Each worker counts for itself, so several allow several times as much.
    """

    read: tuple[int, int] = (6_000, 24_000)
    download: tuple[int, int] = (2_400, 12_000)
    write: tuple[int, int] = (300, 3_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    db: str
    """`sqlite:///path`, or `postgresql://…`."""
    blobs: str
    """`file:///path`, or `s3://bucket?endpoint=…`, `gs://…`, `az://…`."""
    url: str = ""
    """Where clients reach the registry; empty is whatever address they used."""
    upload_bytes: int = 20 * _MIB
    """Of one packed archive."""
    reserved_days: int = 30
    """How long the name of something deleted stays with its owners."""
    rates: RequestRates = field(default_factory=RequestRates)
    trust_proxy: bool = False
    """Is X-Forwarded-For written by a proxy of ours?"""
    old_index: bool = False
    """Serve /.well-known/skills/ (0.1.0) too, which has no digests."""
    proxy_blobs: bool = False
    """Send bytes of an object store ourselves instead of pointing to it."""
    cache_bytes: int = 32 * _MIB
    """Archives kept in memory."""
