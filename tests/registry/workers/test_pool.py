"""Worker processes: results and errors come back, expensive jobs end, and the pool goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from metier.errors import InvalidSkillError, MetierError, RefusedError, UnavailableError
from metier.registry.workers import WorkBudgetError, WorkerPool
from metier.spec import Problem, Report, Severity
from metier.testing import run_now


def spin() -> None:
    while True:
        pass


def sleep() -> None:
    signal.pause()


def take(size: int) -> int:
    return len(bytearray(size))


def refuse() -> None:
    raise RefusedError("no", rule="archive-link", hint="replace it")


def report() -> None:
    problem = Problem(code="SK001", severity=Severity.ERROR, message="missing", file="SKILL.md")
    raise InvalidSkillError("not a skill", report=Report((problem,)))


def fail() -> None:
    raise KeyError("mistake")


def chatter() -> str:
    print("printed")  # noqa: T201
    return "answer"


@asynccontextmanager
async def pool(size: int = 1, **options: Any) -> AsyncIterator[WorkerPool]:
    made = WorkerPool(size, **options)
    try:
        yield made
    finally:
        made.close()


def with_pool(body: Callable[[WorkerPool], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        async with pool(**options) as made:
            await body(made)

    run_now(run())


def test_a_result_comes_back_from_another_process_which_is_used_again() -> None:
    async def body(workers: WorkerPool) -> None:
        first, second = [await workers.run(os.getpid, seconds=5) for _ in range(2)]
        assert first == second != os.getpid()
        assert await workers.run(chatter, seconds=5) == "answer"

    with_pool(body)


def test_our_errors_come_back_whole() -> None:
    async def body(workers: WorkerPool) -> None:
        with pytest.raises(RefusedError, match="no") as refused:
            await workers.run(refuse, seconds=5)
        assert (refused.value.rule, refused.value.hint) == ("archive-link", "replace it")
        with pytest.raises(InvalidSkillError) as invalid:
            await workers.run(report, seconds=5)
        assert [each.code for each in invalid.value.report] == ["SK001"]
        with pytest.raises(MetierError, match="internal error"):
            await workers.run(fail, seconds=5)

    with_pool(body)


def test_a_job_ends_with_its_processor_time_and_the_next_one_runs() -> None:
    async def body(workers: WorkerPool) -> None:
        for _ in range(2):
            with pytest.raises(WorkBudgetError):
                await workers.run(spin, seconds=0.05)
            assert await workers.run(take, 10, seconds=5) == 10

    with_pool(body)


def test_a_job_ends_with_its_memory() -> None:
    async def body(workers: WorkerPool) -> None:
        with pytest.raises(WorkBudgetError):
            await workers.run(take, 1 << 30, seconds=5)
        assert await workers.run(take, 10, seconds=5) == 10

    with_pool(body, memory_bytes=256 * 1024 * 1024)


def test_more_jobs_than_may_wait_are_refused() -> None:
    async def body(workers: WorkerPool) -> None:
        jobs = [asyncio.create_task(workers.run(spin, seconds=0.2)) for _ in range(5)]
        done = await asyncio.gather(*jobs, return_exceptions=True)
        assert [type(each) for each in done] == [WorkBudgetError] * 3 + [UnavailableError] * 2

    with_pool(body, most_waiting=2)


def test_closing_ends_jobs_that_are_under_way() -> None:
    async def body() -> None:
        workers = WorkerPool(2)
        assert await workers.run(take, 1, seconds=5) == 1
        job = asyncio.create_task(workers.run(sleep, seconds=100))
        await asyncio.sleep(0)
        workers.close()
        with pytest.raises((WorkBudgetError, MetierError, asyncio.CancelledError)):
            await job

    run_now(body())
