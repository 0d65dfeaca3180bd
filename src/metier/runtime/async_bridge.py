"""Between the session, which is synchronous, and strangers' code, which may not be.

Tools are awaited and do their work in a thread. What they meet there, an approval hook or a subscriber, may be a
coroutine function that belongs to the caller's loop; so the loop is remembered on the way into the thread and asked
from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from metier.errors import RefusedError

__all__ = ["caller_loop", "in_thread", "wait_for"]

_home: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("metier_home_loop", default=None)
P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    token = _home.set(asyncio.get_running_loop())
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    finally:
        _home.reset(token)


def caller_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that this thread works for, if there is one that runs."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        loop = _home.get()
        return loop if loop is not None and loop.is_running() else None


def wait_for(waiting: Awaitable[T]) -> T:
    """What `waiting` comes to, from synchronous code. Not from inside the loop itself, which would wait for ever."""
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
        "an asynchronous answer cannot be waited for here", rule="asynchronous",
        hint="go through the session's tools, or give a hook that is a plain function",
    )  # fmt: skip


async def _as_coroutine(waiting: Awaitable[T]) -> T:
    return await waiting
