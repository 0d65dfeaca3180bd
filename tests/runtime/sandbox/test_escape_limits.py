"""Escape suite, E43-E45, E51: memory by other means, a watch that is kept busy, and scratch folders hard to measure."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.runtime.sandbox.plan import SandboxFeatures
from runtime.sandbox.escape.stage import WAYS_TO_LIMIT, Stage, at_every_level, survivors

MEGABYTE = 1 << 20
with_and_without_a_cgroup = pytest.mark.parametrize(
    "features", WAYS_TO_LIMIT, ids=["default", "measured"][: len(WAYS_TO_LIMIT)]
)
FULL = os.environ.get("METIER_FULL") == "1"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@at_every_level
@with_and_without_a_cgroup
@pytest.mark.parametrize("way", ["e43_mapping", "e43_memfds"])
def test_e43_shared_memory_counts(stage: Stage, level: IsolationLevel, features: SandboxFeatures | None, way: str) -> None:
    if stage.claims("E43", level, Guard.LIMITS, features=features):
        facts = {"megabytes": 600, "each": 30, "hold": True}
        outcome = stage.attempt(way, level, facts=facts, limits={"memory_bytes": 200 * MEGABYTE}, features=features)
        assert (outcome.stop_reason, outcome.exit_code) == ("memory", None), outcome
        assert survivors(stage.nonce) == []


@pytest.mark.skipif(not FULL, reason="set METIER_FULL=1 for ten runs of 3 GB at each level")
@at_every_level
@with_and_without_a_cgroup
@pytest.mark.parametrize("way", ["e43_mapping", "e43_memfds"])
def test_e43_three_gigabytes_end_ten_times_of_ten(
    stage: Stage, level: IsolationLevel, features: SandboxFeatures | None, way: str
) -> None:
    if stage.claims("E43", level, Guard.LIMITS, features=features):
        facts = {"megabytes": 3000, "each": 60}
        ends = [stage.attempt(way, level, facts=facts, features=features).stop_reason for _ in range(10)]
        assert ends == ["memory"] * 10


@at_every_level
@with_and_without_a_cgroup
@pytest.mark.parametrize("way", ["e44_unmapped", "e44_in_flight", "e44_hidden"])
def test_e44_shared_memory_that_no_process_shows_is_found_too(
    stage: Stage, level: IsolationLevel, features: SandboxFeatures | None, way: str
) -> None:
    claimed = stage.claims("E44", level, Guard.RUN_MEMORY, features=features)
    # Without a cgroup this is not claimed, as it depends on what else happens on the machine. It is tried all the same.
    if claimed or level is not IsolationLevel.OFF:
        facts = {"megabytes": 800, "each": 20, "hold": True}
        limits = {"memory_bytes": 200 * MEGABYTE, "seconds": 30}
        outcome = stage.attempt(way, level, facts=facts, limits=limits, features=features)
        assert (outcome.stop_reason, outcome.exit_code) == ("memory", None), outcome
        assert survivors(stage.nonce) == []


@at_every_level
@with_and_without_a_cgroup
@pytest.mark.parametrize("way", ["e45_processes", "e45_memory", "e45_scratch"])
def test_e45_output_does_not_keep_limits_from_being_checked(
    stage: Stage, level: IsolationLevel, features: SandboxFeatures | None, way: str
) -> None:
    if not stage.claims("E45", level, Guard.LIMITS, features=features):
        return
    limits = {"memory_bytes": 150 * MEGABYTE, "processes": 40, "scratch_bytes": 8 * MEGABYTE}
    outcome = stage.attempt("e45", level, facts={"way": way}, limits=limits, features=features)
    kernel = {"e45_processes": (Guard.FORKS, "EAGAIN"), "e45_scratch": (Guard.SCRATCH, "ENOSPC")}
    guard, error = kernel.get(way, (None, ""))
    if guard and outcome.isolation.has(guard):
        assert json.loads(outcome.stderr)["why"] == error, outcome
    else:
        assert (outcome.stop_reason, outcome.exit_code) == (way.removeprefix("e45_"), None), outcome
    assert survivors(stage.nonce) == []


@at_every_level
@pytest.mark.parametrize("way", ["e51_unlinked", "e51_folders", "e51_deep"])
def test_e51_nothing_in_the_scratch_folder_escapes_its_limit(stage: Stage, level: IsolationLevel, way: str) -> None:
    if not stage.claims("E51", level, Guard.LIMITS):
        return
    megabytes = {"e51_unlinked": 8, "e51_folders": 24, "e51_deep": 64}[way]
    facts = {"megabytes": 40, "hold": way != "e51_deep" or level is not IsolationLevel.NAMESPACE}
    outcome = stage.attempt(way, level, facts=facts, limits={"scratch_bytes": megabytes * MEGABYTE})
    if outcome.isolation.has(Guard.SCRATCH):
        # A folder of its own for each of a thousand levels is within the limits that the kernel counts.
        assert json.loads(outcome.stdout)["why"] == ("ok" if way == "e51_deep" else "ENOSPC"), outcome
    else:
        assert (outcome.stop_reason, outcome.exit_code) == ("scratch", None), outcome
