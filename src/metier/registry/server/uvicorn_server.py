"""Runs a registry with uvicorn: one process, or several that share a database."""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import uvicorn

from metier.registry.domain.registry import ServerOptions, open_registry
from metier.registry.domain.rescans import named_scanner
from metier.registry.store.server_lock import hold_for_server
from metier.values import dataclass, replace

from .app import RegistryApp, create_app
from .client_address import TrustedProxies
from .http_protocol import ConnectionGate, LimitedHttpProtocol
from .request_log import logging_config

__all__ = ["Listener", "serve", "uvicorn_options", "worker_app"]

_OPTIONS_VARIABLE = "METIER_REGISTRY_OPTIONS"
_MOST_FILES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """The address that a server listens on."""

    host: str
    port: int
    workers: int = 1
    """Number of processes."""
    tls_certificate: str = ""
    """A PEM file with the certificate and its chain; empty means plain HTTP."""
    tls_key: str = ""


def serve(options: ServerOptions, listener: Listener, *, on_ready: Callable[[str | None], None]) -> None:
    """Serves until interrupted. Calls `on_ready` once the database is ready, with the admin token on the first start.

    Raises ConflictError if another server uses the same SQLite database.
    """
    with hold_for_server(options.db):
        on_ready(asyncio.run(_prepare(options)))
        _raise_file_limit()
        _run(options, listener)


def _run(options: ServerOptions, listener: Listener) -> None:
    common = {"host": listener.host, "port": listener.port, **uvicorn_options(options)}
    if listener.tls_certificate:
        common |= {"ssl_certfile": listener.tls_certificate, "ssl_keyfile": listener.tls_key}
    if listener.workers == 1:
        uvicorn.run(create_app(options, scanner=named_scanner(options.scanner)), **common)
        return
    with tempfile.TemporaryDirectory(prefix="metier-metrics-") as folder:
        shared = replace(options, metrics_folder=folder)
        os.environ[_OPTIONS_VARIABLE] = msgspec.json.encode(shared).decode()
        uvicorn.run(f"{__name__}:worker_app", factory=True, workers=listener.workers, **common)


def uvicorn_options(options: ServerOptions) -> dict[str, Any]:  # Any: options of uvicorn
    """Returns the options of uvicorn for a registry, with the limits of its connections."""
    limits = options.connections
    gate = ConnectionGate(limits, TrustedProxies(options.trust_proxy))
    return {
        "access_log": False, "log_config": logging_config(options.log), "server_header": False,
        "timeout_graceful_shutdown": 10, "lifespan": "on",
        "http": partial(LimitedHttpProtocol, gate=gate), "timeout_keep_alive": limits.idle_seconds, "ws": "none",
        # The application reads X-Forwarded-For itself; uvicorn would believe it from any process of this machine.
        "proxy_headers": False,
    }  # fmt: skip


def worker_app() -> RegistryApp:
    """Returns the application of one of several workers, with the options of the parent process."""
    options = msgspec.json.decode(os.environ[_OPTIONS_VARIABLE], type=ServerOptions)
    return create_app(options, scanner=named_scanner(options.scanner))


async def _prepare(options: ServerOptions) -> str | None:
    """Migrates the database before any worker starts, and creates the first token."""
    registry = await open_registry(options)
    try:
        return await registry.tokens.create_first(now=registry.clock())
    finally:
        await registry.close()


def _raise_file_limit() -> None:
    """Every connection needs a descriptor, and the usual soft limit of 1,024 is lower than what the kernel allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
