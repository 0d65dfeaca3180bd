"""Escape suite, E16-E25, E32-E35, E39: other processes, runs that do not end, limits, and parts of the kernel."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.runtime.script_run import Limits, ScriptRun
from runtime.sandbox.escape.runner_choice import IN_CONTAINERS, runner_at
from runtime.sandbox.escape.stage import AVAILABLE, LEVELS, Stage, at_every_level, note, scratch_folders, survivors, wait_until

MEGABYTE = 1 << 20


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@at_every_level
def test_e16_no_signal_and_no_limit_reaches_another_process(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E16", level, Guard.SIGNALS):
        with stage.victim() as victim:
            before = Path(f"/proc/{victim.pid}/limits").read_text()
            results = stage.results("e16", level, facts={"victim": victim.pid})
            assert Path(f"/proc/{victim.pid}/limits").read_text() == before
            assert os.getpriority(os.PRIO_PROCESS, victim.pid) == os.getpriority(os.PRIO_PROCESS, 0)
            assert len(os.sched_getaffinity(victim.pid)) == len(os.sched_getaffinity(0))
        refused = {"term", "group", "probe", "host", "limits", "nice", "cpu", "pidfd", "nice all", "io of all"}
        assert not {name for name in refused if results[name][:2] == "ok"}, results


@at_every_level
def test_e17_the_memory_of_another_process_cannot_be_touched(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E17", level, Guard.SYSCALLS):
        with stage.victim() as victim:
            results = stage.results("e17", level, facts={"victim": victim.pid})
        assert set(results.values()) <= {"EPERM", "EACCES", "ENOENT"}, results


@at_every_level
def test_e18_daemons_end_with_the_time(stage: Stage, level: IsolationLevel) -> None:
    assert stage.claims("E18", level, Guard.TREE)
    assert stage.attempt_until_started("e18", level).stdout == "started\n"


@at_every_level
def test_e18_daemons_end_with_the_script(stage: Stage, level: IsolationLevel) -> None:
    assert stage.attempt("e18b", level).ok
    assert survivors(stage.nonce) == []


@at_every_level
def test_e19_a_daemon_that_never_stays_the_same_process_ends_too(stage: Stage, level: IsolationLevel) -> None:
    assert stage.claims("E19", level, Guard.TREE)
    assert stage.attempt_until_started("e19", level).stdout == "started\n"


_CALLER = """
import asyncio, json, sys
from metier.runtime import IsolationLevel, Limits, ScriptRun
from runtime.sandbox.escape.runner_choice import runner_at
level = IsolationLevel(sys.argv[1])
run = ScriptRun(folder=sys.argv[2], script="scripts/attempts.py", arguments=("e18", json.dumps({"nonce": sys.argv[3]})),
          limits=Limits(seconds=600, require=level))
asyncio.run(runner_at(level).run(run))
"""


@at_every_level
def test_e20_a_run_does_not_outlive_a_caller_that_is_killed(stage: Stage, level: IsolationLevel) -> None:
    assert stage.claims("E20", level, Guard.TREE)
    words = [sys.executable, "-c", _CALLER, level, str(stage.skill), stage.nonce]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as caller:
        wait_until(lambda: len(set(survivors(stage.nonce)) - {caller.pid}) >= 3, "the run starts")
        scratch = [path for pid in survivors(stage.nonce) for path in scratch_folders(pid)]
        caller.send_signal(signal.SIGKILL)
    wait_until(lambda: survivors(stage.nonce) == [], "all processes end")
    wait_until(lambda: not any(map(os.path.exists, scratch)), "the scratch folder is removed")


@at_every_level
def test_a_cancelled_run_has_ended_when_the_cancellation_arrives(stage: Stage, level: IsolationLevel) -> None:
    async def cancel() -> None:
        task = asyncio.create_task(runner_at(level).run(stage.run("e18", level)))
        while len(survivors(stage.nonce)) < 3:
            assert not task.done(), task
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert survivors(stage.nonce) == []

    asyncio.run(cancel())


@at_every_level
@pytest.mark.parametrize("way", ["e21_sleep", "e21_busy", "e21_stop"])
def test_e21_every_run_times_out(stage: Stage, level: IsolationLevel, way: str) -> None:
    note("E21", level, "held")
    assert stage.attempt_until_started(way, level).stdout == "started\n"


@at_every_level
def test_e22_signals_and_clocks_do_not_delay_the_end(stage: Stage, level: IsolationLevel) -> None:
    note("E22", level, "held")
    # Without a filter root could really set the clock, so it is not tried there.
    clock = AVAILABLE[level].has(Guard.SYSCALLS)
    assert stage.attempt_until_started("e22", level, facts={"clock": clock}).stdout == "started\n"
    assert datetime.now(UTC).year > 1970


@at_every_level
def test_e23_a_fork_bomb_is_ended_and_the_host_can_still_fork(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E23", level, Guard.LIMITS):
        outcome = stage.attempt("e23_forks", level, limits={"seconds": 2, "processes": 40})
        assert outcome.exit_code is None
        assert outcome.stop_reason in ("processes", "time")
        assert subprocess.run(["true"], check=True).returncode == 0
        assert survivors(stage.nonce) == []


@at_every_level
def test_e23_a_thread_bomb_is_ended(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E23", level, Guard.LIMITS):
        outcome = stage.attempt("e23_threads", level, limits={"processes": 40})
        if outcome.isolation.has(Guard.FORKS):
            assert json.loads(outcome.stdout)["threads"] < 40
        else:
            assert outcome.stop_reason == "processes"
        assert survivors(stage.nonce) == []


@at_every_level
def test_e24_one_process_cannot_have_all_the_memory(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E24", level, Guard.LIMITS):
        assert stage.results("e24_one", level) == {"allocate": "MemoryError"}


@at_every_level
def test_e24_many_processes_together_cannot_either(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E24", level, Guard.LIMITS):
        outcome = stage.attempt("e24_many", level, limits={"memory_bytes": 200 * MEGABYTE})
        assert outcome.stop_reason == "memory"
        # The engine of a container does not report it.
        assert IN_CONTAINERS or (outcome.peak_memory and outcome.peak_memory < 200 * MEGABYTE)


@at_every_level
def test_e25_the_scratch_folder_has_an_end(stage: Stage, level: IsolationLevel) -> None:
    if not stage.claims("E25", level, Guard.LIMITS):
        return
    outcome = stage.attempt("e25_bytes", level, limits={"scratch_bytes": 8 * MEGABYTE})
    if outcome.isolation.has(Guard.SCRATCH):
        results = json.loads(outcome.stdout)
        assert results["why"] == "ENOSPC"
        assert results["written"] <= 8 * MEGABYTE
    else:
        assert outcome.stop_reason == "scratch"


@at_every_level
def test_e25_so_have_its_files_and_descriptors(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E25", level, Guard.LIMITS):
        outcome = stage.attempt("e25_inodes", level, limits={"scratch_files": 2000})
        assert outcome.stop_reason == "scratch", outcome
        assert stage.results("e25_fds", level)["why"] == "EMFILE"
        assert stage.results("e25_sparse", level) == {"sparse": "EFBIG"}


@at_every_level
def test_e25_there_is_no_other_memory_to_fill(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E25", level, Guard.READ_ONLY):
        results = stage.results("e25_elsewhere", level, limits={"scratch_bytes": 8 * MEGABYTE})
        assert results.pop("shm") <= 8 * MEGABYTE
        assert not [place for place, found in results.items() if found == "ok"], results


@at_every_level
def test_e32_nothing_can_be_typed_into_the_callers_terminal(stage: Stage, level: IsolationLevel) -> None:
    note("E32", level, "held")
    results = stage.results("e32", level)
    assert results.pop("sid")
    assert set(results.values()) <= {"ENXIO", "ENOTTY", "EPERM", "EACCES", "EIO", "ENOENT"}, results


@at_every_level
def test_e33_no_namespace_no_mount_no_other_root(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E33", level, Guard.SYSCALLS):
        results = stage.results("e33", level)
        assert results.pop("clone3") == "ENOSYS"
        assert set(results.values()) == {"EPERM"}, results


@at_every_level
def test_e34_the_corners_of_the_kernel_are_closed(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E34", level, Guard.SYSCALLS):
        assert set(stage.results("e34", level).values()) == {"EPERM"}


@at_every_level
@pytest.mark.parametrize("way", ["e35_int80", "e35_x32"])
def test_e35_another_way_to_call_the_kernel_is_deadly(stage: Stage, level: IsolationLevel, way: str) -> None:
    if not stage.claims("E35", level, Guard.SYSCALLS):
        return
    if platform.machine() != "x86_64":
        # There is no second way on this processor: the filter's first instruction is all there is to it.
        return
    outcome = stage.attempt(way, level)
    assert "survived" not in outcome.stdout
    allowed = {128 + signal.SIGSYS} if way == "e35_x32" else {128 + signal.SIGSYS, 128 + signal.SIGSEGV}
    assert outcome.exit_code in allowed, outcome


@at_every_level
@pytest.mark.parametrize("code", [0, 1, 124, 126, 127, 137, 255])
def test_e39_a_script_cannot_speak_for_us(stage: Stage, level: IsolationLevel, code: int) -> None:
    note("E39", level, "held")
    said = '{"exit_code": 0, "timed_out": true, "isolation": {"level": "namespace"}}'
    (stage.skill / "scripts/spoof.sh").write_text(f"echo '{said}'; exit {code}")
    asked = ScriptRun(folder=str(stage.skill), script="scripts/spoof.sh", limits=Limits(seconds=60, require=level))
    outcome = asyncio.run(runner_at(level).run(asked))
    assert (outcome.exit_code, outcome.stdout, outcome.timed_out) == (code, f"{said}\n", False)
    assert outcome.isolation.level is level


def test_every_level_of_this_machine_is_in_the_suite() -> None:
    assert IsolationLevel.OFF in LEVELS
    assert sys.platform != "linux" or IsolationLevel.LIMITS in LEVELS
