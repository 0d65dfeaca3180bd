"""Runs slow work in threads, and does not wait for them on Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from metier.errors import UnavailableError

__all__ = ["run_parallel"]

T = TypeVar("T")
R = TypeVar("R")
_GRACE_SECONDS = 1.0


def run_parallel(work: Callable[[T], R], items: Sequence[T], *, workers: int, cancelled: threading.Event) -> list[R]:
    """Returns the results in the order of the items; raises the first error once all have ended.

    On an interrupt it sets `cancelled` and gives the threads a moment to clean up. They are daemons, so one that waits for a
    silent server does not keep the process alive; concurrent.futures cannot do that.
    """
    if len(items) < 2 or workers < 2:
        return [work(item) for item in items]
    # Imported here: most calls have one item.
    from queue import SimpleQueue

    ended: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()
    pending = list(enumerate(items))[::-1]

    def run() -> None:
        while pending:
            try:
                number, item = pending.pop()
            except IndexError:
                # Another thread took the last item.
                return
            try:
                if cancelled.is_set():
                    raise UnavailableError("interrupted", hint="start it again", retryable=False)
                ended.put((number, work(item), None))
            except BaseException as error:
                ended.put((number, None, error))

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(workers, len(items)))]
    try:
        for thread in threads:
            thread.start()
        found = sorted((ended.get() for _ in items), key=lambda one: one[0])
    except BaseException:
        cancelled.set()
        end = time.monotonic() + _GRACE_SECONDS
        for thread in filter(threading.Thread.is_alive, threads):
            thread.join(max(0.0, end - time.monotonic()))
        raise
    for _, _, error in found:
        if error is not None:
            raise error
    return [answer for _, answer, _ in found]  # type: ignore[misc]  # without an error there is an answer
