"""Is it up, how is it doing, and what can it do?"""

from __future__ import annotations

from typing import Any

from .openapi import describe
from .responses import HttpResponse, json_response, text_response
from .routing import RegistryRequest, Route

__all__ = ["ROUTES"]


async def healthz(_request: RegistryRequest) -> HttpResponse:
    """The process answers. Whether it could do its work is another question, and a restart no answer to it."""
    return json_response({"status": "ok"}, headers=((b"cache-control", b"no-store"),))


async def readyz(request: RegistryRequest) -> HttpResponse:
    await request.registry.ping()
    return json_response({"status": "ready"}, headers=((b"cache-control", b"no-store"),))


async def metrics(request: RegistryRequest) -> HttpResponse:
    return text_response(request.scope["metier.app"].metrics.text(), content_type=b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(request: RegistryRequest) -> HttpResponse:
    return json_response(describe(request.scope["metier.app"].routes.all))


ROUTES = (
    Route(method="GET", path="/openapi.json", endpoint=openapi, about="This description.", answers=dict[str, Any]),
    Route(method="GET", path="/healthz", endpoint=healthz, rate="", about="Is the process alive?", answers=dict[str, str]),
    Route(method="GET", path="/readyz", endpoint=readyz, rate="", about="Can it reach its database and its archives?",
          answers=dict[str, str]),
    Route(method="GET", path="/metrics", endpoint=metrics, rate="", about="Counters, for Prometheus.", answers=str),
)  # fmt: skip
