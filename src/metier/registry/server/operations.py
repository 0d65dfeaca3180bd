"""Health, readiness, metrics and the API description."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from .responses import HttpResponse, cacheable_response, json_response, text_response
from .routing import RegistryRequest, Route

__all__ = ["ROUTES", "Metrics"]

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Metrics:
    """Counters of this worker in the Prometheus text format."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0
        self.events: Counter[str] = Counter()

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        self._requests[method, path, status] += 1
        self._seconds += seconds
        place = 0
        while place < len(_BOUNDS) and seconds > _BOUNDS[place]:
            place += 1
        self._buckets[place] += 1

    def text(self) -> str:
        worker = f'worker="{os.getpid()}"'
        lines = ["# TYPE metier_requests_total counter"]
        lines += [
            f'metier_requests_total{{{worker},method="{method}",route="{path}",status="{status}"}} {count}'
            for (method, path, status), count in sorted(self._requests.items())
        ]
        lines.append("# TYPE metier_request_seconds histogram")
        total = 0
        for bound, count in zip((*_BOUNDS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'metier_request_seconds_bucket{{{worker},le="{bound}"}} {total}')
        lines.append(f"metier_request_seconds_sum{{{worker}}} {self._seconds:.6f}")
        lines.append(f"metier_request_seconds_count{{{worker}}} {total}")
        lines.append("# TYPE metier_events_total counter")
        lines += [f'metier_events_total{{{worker},event="{name}"}} {count}' for name, count in sorted(self.events.items())]
        return "\n".join(lines) + "\n"


async def healthz(_request: RegistryRequest) -> HttpResponse:
    """Reports only that the process runs: a restart would not repair a missing database."""
    return json_response({"status": "ok"}, headers=((b"cache-control", b"no-store"),))


async def readyz(request: RegistryRequest) -> HttpResponse:
    await request.registry.ping()
    return json_response({"status": "ready"}, headers=((b"cache-control", b"no-store"),))


async def metrics(request: RegistryRequest) -> HttpResponse:
    return text_response(request.scope["metier.app"].metrics.text(), content_type=b"text/plain; version=0.0.4; charset=utf-8")


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
    ),
)
