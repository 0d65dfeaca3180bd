"""Counters of this worker, as Prometheus reads them."""

from __future__ import annotations

import os
from collections import Counter

__all__ = ["Metrics"]

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Metrics:
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
