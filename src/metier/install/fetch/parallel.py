"""Several slow things at once, and Ctrl-C that does not wait for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["run_parallel"]

T = TypeVar("T")
R = TypeVar("R")
_GRACE_SECONDS = 1.0


def run_parallel(work: Callable[[T], R], items: Sequence[T], *, workers: int, cancelled: threading.Event) -> list[R]:
    """The answers in the order of the items; if some failed, the first of those errors, once all have ended.

    Whoever is interrupted while waiting sets `cancelled`, gives the workers a moment to put away what they have begun, and
    goes. The threads are daemons: one that hangs on a silent server ends with the process, which concurrent.futures forbids.
    """
    if len(items) < 2 or workers < 2:
        return [work(item) for item in items]
    # Imported here, for those that have several.
    from queue import SimpleQueue

    ended: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()
    pending = list(enumerate(items))[::-1]

    def run() -> None:
        while pending and not cancelled.is_set():
            try:
                number, item = pending.pop()
            except IndexError:
                # Another worker took the last one between the two lines.
                return
            try:
                ended.put((number, work(item), None))
            except BaseException as error:
                ended.put((number, None, error))

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(workers, len(items)))]
    for thread in threads:
        thread.start()
    try:
        found = sorted((ended.get() for _ in items), key=lambda one: one[0])
    except BaseException:
        cancelled.set()
        end = time.monotonic() + _GRACE_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        raise
    for _, _, error in found:
        if error is not None:
            raise error
    return [answer for _, answer, _ in found]  # type: ignore[misc]  # without an error there is an answer
