"""Runs a registry with uvicorn: one process, or several that share a database."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import uvicorn

from metier.registry.domain.admission import ReleaseScan
from metier.registry.domain.records import ScanStatus
from metier.registry.domain.registry import RequestRates, ServerOptions, open_registry
from metier.scan import scan
from metier.spec import Files

from .app import RegistryApp, create_app
from .client_address import TrustedProxies

__all__ = ["scan_release", "serve", "worker_app"]

_OPTIONS_VARIABLE = "METIER_REGISTRY_OPTIONS"


def serve(options: ServerOptions, *, host: str, port: int, workers: int, on_ready: Callable[[str | None], None]) -> None:
    """Serves until interrupted. Calls `on_ready` once the database is ready, with the admin token on the first start."""
    TrustedProxies(options.trust_proxy)  # raises before the address is printed
    on_ready(asyncio.run(_prepare(options)))
    common: dict[str, Any] = {"host": host, "port": port, "access_log": False, "log_level": "warning", "server_header": False,
              "timeout_keep_alive": 30, "timeout_graceful_shutdown": 10, "lifespan": "on",
              # The application reads X-Forwarded-For itself; uvicorn would believe it from any process of this machine.
              "proxy_headers": False, "ws": "none"}  # fmt: skip
    if workers == 1:
        uvicorn.run(create_app(options, scanner=scan_release), **common)
        return
    os.environ[_OPTIONS_VARIABLE] = json.dumps(asdict(options))
    uvicorn.run(f"{__name__}:worker_app", factory=True, workers=workers, **common)


def worker_app() -> RegistryApp:
    """Returns the application of one of several workers, with the options of the parent process."""
    fields = json.loads(os.environ[_OPTIONS_VARIABLE])
    rates = RequestRates(**{name: tuple(value) for name, value in fields.pop("rates").items()})
    fields["trust_proxy"] = tuple(fields["trust_proxy"])
    return create_app(ServerOptions(**fields, rates=rates), scanner=scan_release)


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
