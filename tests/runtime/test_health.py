"""The checks of `metier doctor` about running skills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metier.runtime import FileApprovals, Isolation, IsolationLevel, SqlSessionStore
from metier.runtime.health import HealthCheck, check_health
from metier.runtime.sandbox.probe import ProbeResult
from metier.runtime.scripts.runner import Runner


@dataclass(frozen=True)
class FakeProbingRunner:
    best_level: IsolationLevel | None

    def best(self) -> Isolation | None:
        return Isolation(level=self.best_level, missing=("own IPC",)) if self.best_level else None

    def probe_results(self) -> Sequence[ProbeResult]:
        return (
            ProbeResult(
                isolation=Isolation(level=IsolationLevel.NAMESPACE),
                works=False,
                reason="bwrap is not installed",
                fix="apt install bubblewrap",
            ),
            ProbeResult(isolation=Isolation(level=IsolationLevel.LANDLOCK), works=False, reason="the kernel is too old"),
        )


def lines(
    folder: Path, level: IsolationLevel | None, require: IsolationLevel = IsolationLevel.LANDLOCK
) -> dict[str, HealthCheck]:
    store, approvals = SqlSessionStore(folder / "sessions.sqlite"), FileApprovals(folder / "approvals.json")
    return {
        line.name: line
        for line in check_health(store=store, approvals=approvals, runner=FakeProbingRunner(level), require=require)
    }


def test_a_machine_with_a_sandbox_says_which_and_what_it_lacks(tmp_path: Path) -> None:
    found = lines(tmp_path, IsolationLevel.LANDLOCK)["sandbox"]
    assert (found.level, found.text) == ("ok", "scripts run at level landlock; without: own IPC")


def test_a_machine_below_the_required_level_gives_the_reason_and_the_fix(tmp_path: Path) -> None:
    found = lines(tmp_path, None)["sandbox"]
    assert found.level == "error"
    assert "bwrap is not installed" in found.text
    assert found.hint == "apt install bubblewrap"
    assert lines(tmp_path, IsolationLevel.LIMITS)["sandbox"].level == "error"
    assert lines(tmp_path, IsolationLevel.LIMITS, IsolationLevel.LIMITS)["sandbox"].level == "ok"


def test_a_damaged_store_and_a_broken_list_are_reported(tmp_path: Path) -> None:
    (tmp_path / "sessions.sqlite").write_bytes(b"nothing of the kind")
    (tmp_path / "approvals.json").write_text("[")
    found = lines(tmp_path, IsolationLevel.NAMESPACE)
    assert found["sessions"].level == "warning"
    assert "damaged file was renamed" in found["sessions"].text
    assert found["approvals"].level == "error"


def test_the_real_runner_can_be_checked(tmp_path: Path) -> None:
    store, approvals = SqlSessionStore(tmp_path / "s.sqlite"), FileApprovals(tmp_path / "a.json")
    names = [line.name for line in check_health(store=store, approvals=approvals, runner=Runner(), require=IsolationLevel.OFF)]
    assert names == ["sandbox", "sessions", "approvals", "telemetry"]
