"""Isolation levels and their guards."""

from __future__ import annotations

import pytest

from metier.runtime.sandbox.isolation import Guard, IsolationLevel, isolation_at


@pytest.mark.parametrize("level", IsolationLevel)
def test_the_guards_of_a_level_and_the_missing_ones_are_all_guards(level: IsolationLevel) -> None:
    for hosts in (False, True):
        found = isolation_at(level, hosts=hosts, abi=7)
        assert sorted((*found.layers, *found.missing)) == sorted(Guard)
        assert found.has(Guard.NETWORK) == (not hosts and level.strength >= 2)
        assert found.has(Guard.HOSTS) == (level.strength >= 2)


@pytest.mark.parametrize("abi", range(1, 8))
def test_each_version_of_landlock_claims_what_the_escape_suite_shows_for_it(abi: int) -> None:
    found = isolation_at(IsolationLevel.LANDLOCK, abi=abi)
    always = {Guard.NAMES, Guard.IDS, Guard.SCRATCH, Guard.FORKS, Guard.RUN_MEMORY, Guard.WORKSPACE}
    assert set(found.missing) == always | ({Guard.SIGNALS} if abi < 6 else set())
    assert found.has(Guard.SUPERVISION)


@pytest.mark.parametrize("level", [IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.LIMITS])
def test_only_a_cgroup_limits_the_memory_of_all_processes_by_the_kernel(level: IsolationLevel) -> None:
    for root in (False, True):
        assert not isolation_at(level, root=root).has(Guard.RUN_MEMORY)
        found = isolation_at(level, root=root, cgroup=True)
        assert found.has(Guard.RUN_MEMORY)
        assert found.has(Guard.FORKS)


def test_without_a_level_nothing_keeps_a_script_from_its_supervisor() -> None:
    for level in (IsolationLevel.LIMITS, IsolationLevel.OFF):
        assert Guard.SUPERVISION.value in isolation_at(level).missing


def test_levels_have_an_order() -> None:
    order = [IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.LIMITS, IsolationLevel.OFF]
    assert sorted(order, key=lambda level: -level.strength) == order
    assert IsolationLevel.SEATBELT.strength == IsolationLevel.LANDLOCK.strength
