"""Counters of the workers of one server, in the Prometheus text format.

Each worker counts for itself. Workers of one server share a folder in which each saves its counters every second, so that any
of them can answer for all: a scrape reaches one worker only.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

import metier
from metier.sources import replace_bytes
from metier.values import dataclass, field

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counters:
    worker: int
    requests: list[tuple[str, str, int, int]]
    """Method, route, status and number."""
    buckets: list[int]
    seconds: float
    events: dict[str, int] = field(default_factory=dict)


class Metrics:
    def __init__(self, folder: str = "") -> None:
        self._folder = Path(folder) if folder else None
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

    def save(self) -> None:
        """Saves the counters for the other workers, if there are any."""
        if self._folder is not None:
            replace_bytes(str(self._folder / str(os.getpid())), msgspec.json.encode(self._own()))

    def text(self) -> str:
        """Returns the counters of all workers of this server."""
        return "\n".join(_lines([self._own(), *self._others()])) + "\n"

    def _own(self) -> _Counters:
        return _Counters(
            worker=os.getpid(),
            requests=[(*key, count) for key, count in sorted(self._requests.items())],
            buckets=list(self._buckets),
            seconds=self._seconds,
            events=dict(sorted(self.events.items())),
        )

    def _others(self) -> Iterator[_Counters]:
        for file in sorted(self._folder.iterdir()) if self._folder is not None else ():
            if file.name.isdigit() and int(file.name) != os.getpid() and _is_alive(int(file.name)):
                yield msgspec.json.decode(file.read_bytes(), type=_Counters)


def _lines(workers: Iterable[_Counters]) -> Iterator[str]:
    counted = list(workers)
    yield "# TYPE metier_build_info gauge"
    yield f'metier_build_info{{version="{metier.__version__}"}} 1'
    yield "# TYPE metier_requests_total counter"
    for each in counted:
        for method, path, status, count in each.requests:
            labels = f'worker="{each.worker}",method="{method}",route="{path}",status="{status}"'
            yield f"metier_requests_total{{{labels}}} {count}"
    yield "# TYPE metier_request_seconds histogram"
    for each in counted:
        worker, total = f'worker="{each.worker}"', 0
        for bound, count in zip((*_BOUNDS, "+Inf"), each.buckets, strict=True):
            total += count
            yield f'metier_request_seconds_bucket{{{worker},le="{bound}"}} {total}'
        yield f"metier_request_seconds_sum{{{worker}}} {each.seconds:.6f}"
        yield f"metier_request_seconds_count{{{worker}}} {total}"
    yield "# TYPE metier_events_total counter"
    for each in counted:
        for name, count in each.events.items():
            yield f'metier_events_total{{worker="{each.worker}",event="{name}"}} {count}'


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
