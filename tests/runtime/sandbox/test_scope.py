"""The systemd scope of the spawner. No service manager runs here, so what is found and what is asked for are tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.runtime.sandbox import spawner_client
from metier.runtime.sandbox.scope import SystemdPaths, scope_words


def machine(tmp_path: Path, *, cgroup: str) -> tuple[dict[str, str], SystemdPaths]:
    (tmp_path / "run/systemd").mkdir(parents=True)
    for name in ("run/systemd/private", "systemd-run", "controllers"):
        (tmp_path / name).write_text("")
    (tmp_path / "cgroup").write_text(cgroup)
    paths = SystemdPaths(program=f"{tmp_path}/systemd-run", controllers=f"{tmp_path}/controllers", own=f"{tmp_path}/cgroup")
    return {"XDG_RUNTIME_DIR": f"{tmp_path}/run"}, paths


SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"


def test_a_session_outside_of_the_service_manager_gets_a_scope(tmp_path: Path) -> None:
    environment, paths = machine(tmp_path, cgroup=SESSION)
    words = scope_words(environment, user=1000, paths=paths)
    assert words[0] == paths.program
    assert words[-1] == "--"
    assert {"--user", "--scope", "--property=Delegate=memory pids"} <= set(words)
    assert scope_words(environment, user=0, paths=paths) == [], "root makes its cgroups itself"


def test_no_scope_is_asked_for_where_it_is_not_needed_or_not_possible(tmp_path: Path) -> None:
    environment, paths = machine(tmp_path, cgroup="0::/user.slice/user@1000.service/app.slice/a.scope\n")
    assert scope_words(environment, user=1000, paths=paths) == []
    (tmp_path / "cgroup").write_text(SESSION)
    assert scope_words({}, user=1000, paths=paths) == []
    (tmp_path / "controllers").unlink()
    assert scope_words(environment, user=1000, paths=paths) == []


def test_a_spawner_behind_another_program_says_that_it_has_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    process, connection = spawner_client._spawn(["/usr/bin/env", "--"])
    with connection:
        assert spawner_client._has_started(connection)
    assert process.wait(60) == 0


def test_a_program_that_starts_no_spawner_is_noticed() -> None:
    process, connection = spawner_client._spawn(["/bin/false"])
    with connection:
        assert not spawner_client._has_started(connection)
    assert process.wait(60) == 1
