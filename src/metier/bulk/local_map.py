"""Bulk work in processes of this machine, one item at a time in each."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

from .bulk_map import ItemFailure
from .worker import WorkerProcess

__all__ = ["LocalMap"]

T = TypeVar("T")
R = TypeVar("R")
_MEMORY_BYTES = 2 * 1024**3
_ITEM_SECONDS = 600.0
_TRIES = 3


class LocalMap:
    def __init__(self, jobs: int, *, memory_bytes: int = _MEMORY_BYTES, item_seconds: float = _ITEM_SECONDS) -> None:
        self.jobs = jobs
        self._memory = memory_bytes
        self._seconds = item_seconds
        """Of processor time for one item."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R | ItemFailure]]:
        left = list(enumerate(items))[::-1]
        ended: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        lock = threading.Lock()
        workers: set[WorkerProcess] = set()
        is_over = threading.Event()

        def new_worker() -> WorkerProcess | None:
            with lock:
                if is_over.is_set():
                    return None
                worker = WorkerProcess(self._memory)
                workers.add(worker)
                return worker

        def work() -> None:
            worker = new_worker()
            while worker is not None:
                with lock:
                    if not left or is_over.is_set():
                        return
                    number, item = left.pop()
                for attempt in range(1, _TRIES + 1):
                    kind, value, is_large = worker.ask(pickle.dumps((function, (item,), self._seconds)))
                    if kind == "ended" or is_large:
                        worker.end()
                        worker = new_worker()
                        if worker is None:
                            return
                    if kind != "ended" or attempt == _TRIES:
                        ended.put((number, _result(kind, value)))
                        break

        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(self.jobs, len(items)))]
        for thread in threads:
            thread.start()
        try:
            for _ in items:
                yield ended.get()
        finally:
            with lock:
                is_over.set()
                running = list(workers)
            for worker in running:
                worker.kill()
            for thread in threads:
                thread.join()
            for worker in running:
                worker.end()


def _result(kind: str, value: Any) -> Any:  # Any: depends on the function
    if kind == "done":
        return value
    if kind == "refused":
        _, arguments, fields = value
        return ItemFailure(f"{arguments[0] if arguments else 'error'}; {fields.get('hint', '')}".rstrip("; "))
    if kind == "memory":
        return ItemFailure("it needs more memory than a worker may use")
    if kind == "ended":
        return ItemFailure(f"its worker ended {_TRIES} times (exit status {value})")
    return ItemFailure(str(value).strip().splitlines()[-1])
