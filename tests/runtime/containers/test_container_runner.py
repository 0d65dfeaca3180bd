from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.errors import RefusedError, UnavailableError
from metier.runtime import (
    ContainerOptions,
    ContainerRunner,
    EngineKind,
    Guard,
    IsolationLevel,
    Limits,
    ScriptRun,
    Workspace,
)
from metier.runtime.containers.engine import ContainerEngine
from metier.runtime.containers.runner import check_supported, container_network
from metier.runtime.sandbox.folder_lock import make_locked
from metier.runtime.scripts.interpreters import ImageInterpreters
from metier.testing import run_now, skill_folder
from metier.values import dataclass, replace

PODMAN = ContainerOptions(engine=EngineKind.PODMAN)
with_podman = pytest.mark.skipif(
    ContainerRunner(PODMAN).best() is None, reason="podman does not work here, see `metier doctor`"
)


def script(folder: Path, source: str, name: str = "go.sh") -> ScriptRun:
    skill = skill_folder(folder, "tried", files={f"scripts/{name}": source})
    return ScriptRun(folder=str(skill), script=f"scripts/{name}", limits=Limits(require=IsolationLevel.NAMESPACE))


def test_a_probe_fails_only_for_reasons_of_the_machine() -> None:
    """Other tests are left out where no engine works; they must not be left out because of a mistake of ours."""
    assert [result.reason for result in ContainerRunner().probe_results() if "Error" in result.reason] == []


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterRun(ScriptRun):
    later: str = ""


def test_a_field_that_is_added_to_runs_later_is_refused_until_containers_support_it(tmp_path: Path) -> None:
    folder = str(skill_folder(tmp_path, "tried", files={"scripts/go.sh": "true"}))
    check_supported(LaterRun(folder=folder, script="scripts/go.sh"))
    with pytest.raises(RefusedError, match="does not know `later` of a run") as refused:
        check_supported(LaterRun(folder=folder, script="scripts/go.sh", later="x"))
    assert refused.value.hint == "use the sandbox for it: `metier config set sandbox.runner sandbox`"


def test_a_daemon_gives_no_network_by_host(tmp_path: Path) -> None:
    docker = ContainerEngine(kind=EngineKind.DOCKER, program="/usr/bin/docker")
    with pytest.raises(RefusedError, match=r"^docker gives a script no network access by host$"):
        container_network(replace(script(tmp_path, "true"), hosts=("example.com",)), docker)


@with_podman
def test_a_copy_of_the_workspace_is_used_where_no_overlay_can_be_mounted(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("notes")
    workspace = Workspace(folder)
    bad = replace(workspace.mount(), mask=f"{tmp_path}/missing")
    run = replace(script(tmp_path, "pwd; cat notes.txt; echo x > new"), workspace=bad)
    outcome = run_now(ContainerRunner(PODMAN).run(run))
    assert outcome.stdout == f"{folder}\nnotes"
    assert Guard.WORKSPACE in outcome.isolation.missing
    assert [change.path for change in workspace.changes()] == ["new"]
    workspace.close()


@pytest.mark.parametrize("engine", [None, EngineKind.DOCKER])
def test_an_image_with_a_tag_is_one_sentence(tmp_path: Path, engine: EngineKind | None) -> None:
    runner = ContainerRunner(ContainerOptions(engine=engine, image="python:3.12"))
    with pytest.raises(RefusedError, match=r"^the image 'python:3.12' is not named by a digest$"):
        run_now(runner.run(script(tmp_path, "true")))


def test_docker_without_an_image_says_what_it_needs() -> None:
    (result,) = ContainerRunner(ContainerOptions(engine=EngineKind.DOCKER)).probe_results()
    assert not result.works
    assert result.reason in ("docker needs an image", "docker is not installed")


@with_podman
def test_an_image_that_is_not_there_is_named_with_the_command_that_brings_it(tmp_path: Path) -> None:
    image = "localhost/metier-none@sha256:" + "0" * 64
    runner = ContainerRunner(replace(PODMAN, image=image))
    with pytest.raises(RefusedError, match="is not on this machine") as refused:
        run_now(runner.run(script(tmp_path, "true")))
    assert refused.value.hint == f"run `podman pull {image}`"


@with_podman
def test_options_that_the_engine_does_not_know_are_reported_in_its_words(tmp_path: Path) -> None:
    runner = ContainerRunner(replace(PODMAN, options=("--no-such-option",)))
    with pytest.raises(RefusedError, match="unknown flag"):
        run_now(runner.run(script(tmp_path, "true")))


@with_podman
def test_nothing_about_the_script_is_on_the_command_line_or_in_the_engines_files(tmp_path: Path) -> None:
    canary = secrets.token_hex(8)
    run = replace(script(tmp_path, "sleep 60"), arguments=(f"argument-{canary}",), secrets={"API_KEY": f"key-{canary}"})

    async def look() -> str:
        task = asyncio.create_task(ContainerRunner(PODMAN).run(run))
        while not (names := _names(str(tmp_path / "tried"))):
            assert not task.done(), task
            await asyncio.sleep(0.05)
        shown = subprocess.run(["podman", "inspect", *names], capture_output=True, text=True, check=True).stdout
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return shown

    assert canary not in asyncio.run(look())
    assert _names(str(tmp_path / "tried")) == []


def _names(source: str) -> list[str]:
    """Returns the containers that mount the folder."""
    listed = subprocess.run(["podman", "ps", "--format", "json"], capture_output=True, text=True, check=True).stdout
    return [each["Names"][0] for each in json.loads(listed or "[]") or [] if source in each["Mounts"]]


@with_podman
def test_an_interpreter_that_is_missing_in_the_container_is_unavailable(tmp_path: Path) -> None:
    runner = ContainerRunner(PODMAN, interpreters=ImageInterpreters())
    with pytest.raises(UnavailableError, match="deno is not installed in the container"):
        run_now(runner.run(script(tmp_path, "#!/usr/bin/env deno\n1", name="go.js")))


@pytest.fixture
def leftovers(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Two containers as killed supervisors leave them: the folder of the first is in use, that of the second is gone."""
    root = tmp_path / "root"
    for name in ("usr", "etc", "proc", "dev", "sys", "tmp", "run"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    used, gone = (f"metier-{secrets.token_hex(8)}" for _ in range(2))
    found = ContainerRunner(PODMAN)._engine()  # the options that work here
    assert found
    words = [*found[1].words, "run", "--detach", "--network=none", "--ulimit=nofile=64:64", "--ulimit=nproc=64:64", "--label",
             f"metier.runs={tmp_path}", "--mount=type=bind,source=/usr,target=/usr,readonly"]  # fmt: skip
    for name in (used, gone):
        subprocess.run([*words, "--name", name, "--rootfs", str(root), "sleep", "600"], check=True, capture_output=True)
    lock = make_locked(str(tmp_path / used))
    yield used, gone
    os.close(lock)
    subprocess.run(["podman", "rm", "--force", "--ignore", "--time=0", used, gone], check=True, capture_output=True)


@with_podman
def test_the_first_run_of_a_process_removes_what_killed_ones_left(tmp_path: Path, leftovers: tuple[str, str]) -> None:
    used, gone = leftovers
    assert ContainerRunner(replace(PODMAN, temporary=str(tmp_path))).best()
    listed = subprocess.run(
        ["podman", "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True, check=True
    ).stdout
    assert used in listed.split()
    assert gone not in listed.split()
