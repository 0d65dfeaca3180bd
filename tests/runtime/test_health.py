"""What `metier doctor` can say about running skills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metier.runtime import FileApprovals, Isolation, Level, SqliteStore
from metier.runtime.health import Found, Health, health
from metier.runtime.running import Runner


@dataclass(frozen=True)
class FakeFound:
    isolation: Isolation
    works: bool
    why: str = ""
    fix: str = ""


@dataclass(frozen=True)
class FakeProbed:
    best_level: Level | None

    def best(self) -> Isolation | None:
        return Isolation(level=self.best_level, missing=("own IPC",)) if self.best_level else None

    def findings(self) -> Sequence[Found]:
        return (
            FakeFound(Isolation(level=Level.NAMESPACE), False, "bwrap is not installed", "apt install bubblewrap"),
            FakeFound(Isolation(level=Level.LANDLOCK), False, "the kernel is too old"),
        )


def lines(folder: Path, level: Level | None, require: Level = Level.LANDLOCK) -> dict[str, Health]:
    store, approvals = SqliteStore(folder / "sessions.sqlite"), FileApprovals(folder / "approvals.json")
    return {line.name: line for line in health(store=store, approvals=approvals, runner=FakeProbed(level), require=require)}


def test_a_machine_with_a_sandbox_says_which_and_what_it_lacks(tmp_path: Path) -> None:
    found = lines(tmp_path, Level.LANDLOCK)["sandbox"]
    assert (found.level, found.text) == ("ok", "scripts run at level landlock; without: own IPC")


def test_a_machine_below_the_required_level_says_why_and_how_to_mend_it(tmp_path: Path) -> None:
    found = lines(tmp_path, None)["sandbox"]
    assert found.level == "error"
    assert "bwrap is not installed" in found.text
    assert found.hint == "apt install bubblewrap"
    assert lines(tmp_path, Level.LIMITS)["sandbox"].level == "error"
    assert lines(tmp_path, Level.LIMITS, Level.LIMITS)["sandbox"].level == "ok"


def test_a_damaged_store_and_a_broken_list_are_told(tmp_path: Path) -> None:
    (tmp_path / "sessions.sqlite").write_bytes(b"nothing of the kind")
    (tmp_path / "approvals.json").write_text("[")
    found = lines(tmp_path, Level.NAMESPACE)
    assert found["sessions"].level == "warning"
    assert "set aside" in found["sessions"].text
    assert found["approvals"].level == "error"


def test_the_real_runner_can_be_asked(tmp_path: Path) -> None:
    store, approvals = SqliteStore(tmp_path / "s.sqlite"), FileApprovals(tmp_path / "a.json")
    names = [line.name for line in health(store=store, approvals=approvals, runner=Runner(), require=Level.OFF)]
    assert names == ["sandbox", "sessions", "approvals", "telemetry"]
