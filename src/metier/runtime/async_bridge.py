"""Bridge between the synchronous session and asynchronous hooks of its caller.

Tools are awaited and do their work in a thread. An approval hook or an event subscriber that they call there may be a
coroutine function of the caller's event loop. So the loop is recorded on the way into the thread, and awaits the hook.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from metier.errors import RefusedError

__all__ = ["caller_loop", "in_thread", "wait_for"]

_caller_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("metier_caller_loop", default=None)
P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    token = _caller_loop.set(asyncio.get_running_loop())
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    finally:
        _caller_loop.reset(token)


def caller_loop() -> asyncio.AbstractEventLoop | None:
    """Returns the running loop that this thread works for, if there is one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        loop = _caller_loop.get()
        return loop if loop is not None and loop.is_running() else None


def wait_for(waiting: Awaitable[T]) -> T:
    """Waits for an awaitable in synchronous code. Raises RefusedError inside the loop itself, which would deadlock."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        loop = caller_loop()
        return (
            asyncio.run(_as_coroutine(waiting))
            if loop is None
            else asyncio.run_coroutine_threadsafe(_as_coroutine(waiting), loop).result()
        )
    if asyncio.iscoroutine(waiting):
        waiting.close()
    raise RefusedError(
        "cannot wait for an asynchronous hook inside the event loop", rule="asynchronous",
        hint="call the session's tools, or use a hook that is a plain function",
    )  # fmt: skip


async def _as_coroutine(waiting: Awaitable[T]) -> T:
    return await waiting
