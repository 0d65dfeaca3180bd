"""Health, readiness, metrics and the API description."""

from __future__ import annotations

from typing import Any

from .metrics import CONTENT_TYPE
from .responses import HttpResponse, cacheable_response, json_response, text_response
from .routing import RegistryRequest, Route

__all__ = ["ROUTES"]


async def healthz(_request: RegistryRequest) -> HttpResponse:
    """Reports only that the process runs: a restart would not repair a missing database."""
    return json_response({"status": "ok"}, headers=((b"cache-control", b"no-store"),))


async def readyz(request: RegistryRequest) -> HttpResponse:
    await request.registry.ping()
    return json_response({"status": "ready"}, headers=((b"cache-control", b"no-store"),))


async def metrics(request: RegistryRequest) -> HttpResponse:
    """Numbers of routes and failures help an attacker, so they need a token unless the administrator publishes them."""
    caller, server = request.caller, request.scope["metier.app"]
    if not server.options.public_metrics:
        caller.require(caller.is_admin or "metrics" in caller.scopes, "read metrics", scope="metrics")
    return text_response(server.metrics.text(), content_type=CONTENT_TYPE)


async def openapi(request: RegistryRequest) -> HttpResponse:
    return cacheable_response(request.scope["metier.app"].openapi, content_type=b"application/json")


ROUTES = (
    Route(
        method="GET",
        path="/openapi.json",
        endpoint=openapi,
        summary="The OpenAPI description of this API.",
        response_type=dict[str, Any],
    ),
    Route(
        method="GET",
        path="/healthz",
        endpoint=healthz,
        rate="",
        summary="Liveness: the process runs.",
        response_type=dict[str, str],
    ),
    Route(
        method="GET",
        path="/readyz",
        endpoint=readyz,
        rate="",
        summary="Readiness: the database and the archives can be reached.",
        response_type=dict[str, str],
    ),
    Route(
        method="GET",
        path="/metrics",
        endpoint=metrics,
        rate="",
        summary="Counters in the Prometheus format.",
        response_type=str,
        auth="metrics",
    ),
)
