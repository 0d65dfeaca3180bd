"""A registry behind uvicorn: one process, or several that share a database."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

import uvicorn

from metier.registry.domain.options import RequestRates, ServerOptions
from metier.registry.domain.registry import open_registry

from .app import RegistryApp, create_app

__all__ = ["serve", "worker_app"]

_HANDED_ON = "METIER_REGISTRY_OPTIONS"


def serve(options: ServerOptions, *, host: str, port: int, workers: int, told: Callable[[str | None], None]) -> None:
    """Until interrupted. `told` is called once the database is ready, with the administrator's token if it is new."""
    told(asyncio.run(_prepared(options)))
    common: dict[str, Any] = {"host": host, "port": port, "access_log": False, "log_level": "warning", "server_header": False,
              "timeout_keep_alive": 30, "timeout_graceful_shutdown": 10, "lifespan": "on"}  # fmt: skip
    if workers == 1:
        uvicorn.run(_app(options), **common)
        return
    os.environ[_HANDED_ON] = json.dumps(dataclasses.asdict(options))
    uvicorn.run("metier.registry.server.uvicorn_server:worker_app", factory=True, workers=workers, **common)


def worker_app() -> RegistryApp:
    """What each of several workers runs; its options come from the process that started it."""
    fields = json.loads(os.environ[_HANDED_ON])
    rates = RequestRates(**{name: tuple(value) for name, value in fields.pop("rates").items()})
    return _app(ServerOptions(**fields, rates=rates))


def _app(options: ServerOptions) -> RegistryApp:
    from metier.registry.domain.judging import scan_release

    return create_app(options, scanner=scan_release)


async def _prepared(options: ServerOptions) -> str | None:
    """Migrate before any worker starts, and make the first token where everybody can see it."""
    registry = await open_registry(options)
    try:
        return await registry.tokens.first(now=registry.clock())
    finally:
        await registry.close()
