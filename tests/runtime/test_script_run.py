"""The default limits, and the values of a run."""

from __future__ import annotations

import pytest

from metier.runtime.sandbox.isolation import Isolation, IsolationLevel
from metier.runtime.script_run import Limits, Outcome, ScriptRun


def test_the_limits_are_those_of_the_designs() -> None:
    limits = Limits()
    assert (limits.seconds, limits.output_bytes, limits.arguments, limits.argument_bytes) == (60, 1 << 20, 100, 4096)
    assert limits.require is IsolationLevel.LANDLOCK


def test_a_run_asks_for_nothing_by_itself() -> None:
    run = ScriptRun(folder="/s", script="scripts/a.py")
    assert (run.hosts, run.stdin, run.environment, run.secrets, run.outputs, run.named) == ((), None, {}, {}, (), ())


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, False), (None, False)])
def test_only_an_exit_with_zero_is_well(code: int | None, ok: bool) -> None:
    assert Outcome(exit_code=code, stdout="", stderr="", isolation=Isolation(level=IsolationLevel.OFF)).ok is ok
