"""Runs a registry with uvicorn: one process, or several that share a database."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import msgspec
import uvicorn

from metier.registry.domain.admission import ReleaseScan, ReleaseScanner
from metier.registry.domain.records import ScanStatus
from metier.registry.domain.registry import ServerOptions, open_registry
from metier.registry.store.server_lock import hold_for_server
from metier.scan import scan
from metier.spec import Files

from .app import RegistryApp, create_app
from .client_address import TrustedProxies
from .http_protocol import ConnectionGate, LimitedHttpProtocol

__all__ = ["release_scanner", "scan_release", "serve", "uvicorn_options", "worker_app"]

_OPTIONS_VARIABLE = "METIER_REGISTRY_OPTIONS"
_MOST_FILES = 16_384


def serve(options: ServerOptions, *, host: str, port: int, workers: int, on_ready: Callable[[str | None], None]) -> None:
    """Serves until interrupted. Calls `on_ready` once the database is ready, with the admin token on the first start.

    Raises ConflictError if another server uses the same SQLite database.
    """
    with hold_for_server(options.db):
        on_ready(asyncio.run(_prepare(options)))
        _raise_file_limit()
        _run(options, host=host, port=port, workers=workers)


def _run(options: ServerOptions, *, host: str, port: int, workers: int) -> None:
    common = {"host": host, "port": port, **uvicorn_options(options)}
    if workers == 1:
        uvicorn.run(create_app(options, scanner=release_scanner(options)), **common)
        return
    os.environ[_OPTIONS_VARIABLE] = msgspec.json.encode(options).decode()
    uvicorn.run(f"{__name__}:worker_app", factory=True, workers=workers, **common)


def uvicorn_options(options: ServerOptions) -> dict[str, Any]:  # Any: options of uvicorn
    """Returns the options of uvicorn for a registry, with the limits of its connections."""
    limits = options.connections
    gate = ConnectionGate(limits, TrustedProxies(options.trust_proxy))
    return {
        "access_log": False, "log_level": "warning", "server_header": False, "timeout_graceful_shutdown": 10, "lifespan": "on",
        "http": partial(LimitedHttpProtocol, gate=gate), "timeout_keep_alive": limits.idle_seconds, "ws": "none",
        # The application reads X-Forwarded-For itself; uvicorn would believe it from any process of this machine.
        "proxy_headers": False,
    }  # fmt: skip


def worker_app() -> RegistryApp:
    """Returns the application of one of several workers, with the options of the parent process."""
    options = msgspec.json.decode(os.environ[_OPTIONS_VARIABLE], type=ServerOptions)
    return create_app(options, scanner=release_scanner(options))


def release_scanner(options: ServerOptions) -> ReleaseScanner:
    """Returns the scanner that the options name. A name, not a function: options are sent to the workers as JSON."""
    module, _, name = options.scanner.partition(":")
    scanner: ReleaseScanner = getattr(import_module(module), name) if module else scan_release
    return scanner


def scan_release(files: Files, *, name: str) -> ReleaseScan:
    report = scan(files, folder=name)
    return ReleaseScan(ScanStatus(report.verdict.value), tuple(report.report))


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
