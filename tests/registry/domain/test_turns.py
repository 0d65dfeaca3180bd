"""One token never has every turn, and a registry never more uploads than it can hold."""

from __future__ import annotations

import asyncio

import pytest

from metier.errors import UnavailableError
from metier.registry.domain.access import Caller
from metier.registry.domain.records import RegistryToken
from metier.registry.domain.turns import TooManyUploadsError, UploadTurns
from metier.testing import run_now


def caller(number: int) -> Caller:
    token = RegistryToken(
        id=number, prefix="", holder="acme", scopes=("publish",), note="", created=0, expires=None, revoked=None
    )
    return Caller(token)


def test_a_token_with_slow_uploads_leaves_a_turn_for_the_others() -> None:
    async def body() -> None:
        turns = UploadTurns(2, most=10, most_per_token=10)
        running: list[int] = []
        end = asyncio.Event()

        async def upload(number: int) -> None:
            with turns.in_flight(caller(number)):
                async with turns.turn(caller(number)):
                    running.append(number)
                    if number == 1:
                        await end.wait()

        slow = [asyncio.create_task(upload(1)) for _ in range(5)]
        await asyncio.sleep(0)
        await upload(2)
        await upload(3)
        assert sorted(running) == [1, 2, 3]
        end.set()
        await asyncio.gather(*slow)
        assert running.count(1) == 5

    run_now(body())


def test_uploads_of_one_token_and_of_all_are_limited_and_counted_down() -> None:
    async def body() -> None:
        turns = UploadTurns(2, most=3, most_per_token=2)
        with turns.in_flight(caller(1)), turns.in_flight(caller(1)):
            with pytest.raises(TooManyUploadsError), turns.in_flight(caller(1)):
                pass
            with turns.in_flight(caller(2)), pytest.raises(UnavailableError), turns.in_flight(caller(3)):
                pass
        with turns.in_flight(caller(1)), turns.in_flight(caller(1)):
            pass

    run_now(body())
