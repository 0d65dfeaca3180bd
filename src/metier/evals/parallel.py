"""Coroutines in parallel, with a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

__all__ = ["run_parallel"]

T = TypeVar("T")


async def run_parallel(work: Iterable[Callable[[], Awaitable[T]]], *, at_once: int) -> list[T]:
    """Returns the results in the order of the work. If one fails, the others are cancelled and its error is raised."""
    gate = asyncio.Semaphore(at_once)

    async def one(make: Callable[[], Awaitable[T]]) -> T:
        async with gate:
            return await make()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(make)) for make in work]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]
