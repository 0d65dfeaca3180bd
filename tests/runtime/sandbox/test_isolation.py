"""Isolation levels and their guards."""

from __future__ import annotations

import pytest

from metier.runtime.sandbox.isolation import Guard, IsolationLevel, isolation_at


@pytest.mark.parametrize("level", IsolationLevel)
def test_the_guards_of_a_level_and_the_missing_ones_are_all_guards(level: IsolationLevel) -> None:
    for network in (False, True):
        found = isolation_at(level, network=network, abi=7)
        assert sorted((*found.layers, *found.missing)) == sorted(Guard)
        assert found.has(Guard.NETWORK) == (not network and level.strength >= 2)


def test_an_old_landlock_says_that_signals_get_through() -> None:
    assert Guard.SIGNALS.value in isolation_at(IsolationLevel.LANDLOCK, abi=5).missing
    assert isolation_at(IsolationLevel.LANDLOCK, abi=6).has(Guard.SIGNALS)


def test_levels_have_an_order() -> None:
    order = [IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.LIMITS, IsolationLevel.OFF]
    assert sorted(order, key=lambda level: -level.strength) == order
    assert IsolationLevel.SEATBELT.strength == IsolationLevel.LANDLOCK.strength
