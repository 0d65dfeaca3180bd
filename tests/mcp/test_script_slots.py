"""The scripts of all clients share a few slots."""

from __future__ import annotations

import asyncio

import pytest

from mcp_servers import run
from metier.errors import UnavailableError
from metier.mcp.script_slots import ScriptSlots


def test_only_so_many_scripts_run_and_only_so_many_wait() -> None:
    async def main() -> None:
        slots, go = ScriptSlots(running=2, waiting=3), asyncio.Event()
        now = most = 0

        async def script() -> str:
            nonlocal now, most
            async with slots.slot():
                now += 1
                most = max(most, now)
                await go.wait()
                now -= 1
            return "ran"

        tasks = [asyncio.ensure_future(script()) for _ in range(5)]
        while now < 2:
            await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="too many scripts"):
            await script()
        tasks[4].cancel()
        await asyncio.wait([tasks[4]])
        tasks[4] = asyncio.ensure_future(script())
        go.set()
        assert await asyncio.gather(*tasks) == ["ran"] * 5
        assert most == 2

    run(main())
