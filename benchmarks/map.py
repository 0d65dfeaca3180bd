"""Bulk work: throughput per core with one and two processes, and a run on two Ray nodes of which one is killed.

The items are equal pieces of pure computation. Throughput per core is measured in items per second of wall time and worker;
with two workers it must be at least 0.8 of that with one. The Ray part needs the extra `ray`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from metier.bulk import BulkMap, LocalMap, RayMap, map_items

_ITEMS, _ROUNDS, _TARGET = 60, 3, 0.8


def work(number: int) -> int:
    """About 50 ms of a core."""
    total = number
    for step in range(400_000):
        total = (total * 31 + step) % 1_000_003
    return total


def main() -> int:
    from benchmarks.map import work as task  # by its name, which workers can import

    rates: dict[int, float] = {}
    for _ in range(_ROUNDS):
        for workers in (1, 2):
            rates[workers] = max(rates.get(workers, 0.0), _ITEMS / _seconds(task, LocalMap(workers)) / workers)
    ratio = rates[2] / rates[1]
    print(f"local: {rates[1]:.1f} items per second and core with 1 worker, {rates[2]:.1f} with 2: {ratio:.2f} (>= {_TARGET})")
    if find_spec("ray"):
        _kill_a_node(task)
    else:
        print("ray: not installed (uv sync --extra ray)")
    return 0 if ratio >= _TARGET else 1


def _seconds(task: Callable[[int], int], on: BulkMap) -> float:
    started = time.perf_counter()
    map_items(task, range(_ITEMS), on=on)
    return time.perf_counter() - started


def _kill_a_node(task: Callable[[int], int]) -> None:
    from bulk.ray_cluster import RayCluster

    with tempfile.TemporaryDirectory() as folder, RayCluster(Path(folder)) as cluster:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            if done == _ITEMS // 3:
                print(f"ray: {done} of {_ITEMS} items done, killing one of two nodes")
                cluster.kill_second_node()

        started = time.perf_counter()
        found = map_items(task, range(_ITEMS), on=RayMap(cluster.address), advance=advance)
        lost = sum(result != work(number) for number, result in enumerate(found))
        print(f"ray: {len(found)} results in order, {lost} lost, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
