"""An event loop in a background thread, one for the process, for frameworks that call our async tools synchronously.

`asyncio.run` for each call would take a millisecond and fails where a loop is running already, as in a notebook.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_in_background"]

T = TypeVar("T")
_starting = threading.Lock()
_running: tuple[threading.Thread, asyncio.AbstractEventLoop] | None = None


def run_in_background(work: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine sends and receives
    """Runs the coroutine and returns its result. An interruption cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _loop() -> asyncio.AbstractEventLoop:
    global _running
    with _starting:
        # A forked child has the loop but not the thread.
        if _running is None or not _running[0].is_alive():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="metier-adapters", daemon=True)
            thread.start()
            _running = (thread, loop)
            atexit.register(_end, thread, loop)
        return _running[1]


def _end(thread: threading.Thread, loop: asyncio.AbstractEventLoop) -> None:
    if thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=5)
    if not loop.is_running():
        loop.close()
