"""A pool of worker processes, which start when they are needed.

Unpacking, scanning and rendering hold the interpreter, so a thread would not keep them from delaying every other request; and
only a process can be ended when the input turns out to be more expensive than it looks.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from metier.bulk import WorkerProcess
from metier.errors import MetierError, UnavailableError
from metier.values import dataclass

__all__ = ["WorkBudgetError", "WorkerPool", "Workers"]

T = TypeVar("T")
_log = logging.getLogger("metier.registry")
_BUDGET_SIGNALS = (-signal.SIGPROF, -signal.SIGALRM, -signal.SIGKILL)
_MEMORY_BYTES = 512 * 1024 * 1024


class WorkBudgetError(MetierError):
    """A job used more processor time or memory than it may."""

    code = "over-budget"


class WorkerPool:
    """At most `size` processes, and at most `most_waiting` jobs that wait for one. The niceness is that of the processes."""

    def __init__(self, size: int, *, memory_bytes: int = _MEMORY_BYTES, most_waiting: int = 64, niceness: int = 0) -> None:
        self.size = size
        self._niceness = niceness
        self._memory = memory_bytes
        self._most = size + most_waiting
        self._jobs = 0
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="registry-worker")
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()

    async def run(self, function: Callable[..., T], *arguments: Any, seconds: float) -> T:  # Any: depends on the function
        """Calls a function of a module in a worker. Raises WorkBudgetError if it takes too long, and its MetierError."""
        if self._jobs >= self._most:
            raise UnavailableError("the registry has too much work at the moment", hint="try again in a moment")
        self._jobs += 1
        try:
            job = pickle.dumps((function, arguments, seconds))
            # A cancelled request does not end its job: the budget does.
            return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._threads, self._run, job))
        finally:
            self._jobs -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            idle, busy = self._idle, self._all - set(self._idle)
            self._idle, self._all = [], set()
        for worker in busy:
            # The thread that waits for its answer does the rest.
            worker.kill()
        for worker in idle:
            worker.end()

    def _run(self, job: bytes) -> Any:  # Any: depends on the function
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            worker = WorkerProcess(self._memory, self._niceness)
            with self._lock:
                self._all.add(worker)
        kind, value, is_large = worker.ask(job)
        with self._lock:
            if kind == "ended" or is_large:
                self._all.discard(worker)
            else:
                self._idle.append(worker)
        if is_large:
            worker.end()
        return _unpack(kind, value)


@dataclass(frozen=True, slots=True)
class Workers:
    """Two pools, so that uploads do not delay pages."""

    checks: WorkerPool
    pages: WorkerPool

    def close(self) -> None:
        self.checks.close()
        self.pages.close()


def _unpack(kind: str, value: Any) -> Any:  # Any: depends on the function
    if kind == "done":
        return value
    if kind == "refused":
        error_type, arguments, fields = value
        error = error_type.__new__(error_type, *arguments)
        error.args = arguments
        error.__dict__.update(fields)
        raise error
    if kind == "memory" or value in _BUDGET_SIGNALS:
        raise WorkBudgetError(
            "the contents take too long or too much memory to process", hint="make the files smaller or simpler"
        )
    _log.error("a worker process failed: %s", value)
    raise MetierError("internal error", hint="it was logged; try again, or tell the administrator")
