"""Escape suite, E55-E63: the user's folder as a workspace, its hidden files, its repository, and what is applied to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from metier.errors import UnavailableError
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.runtime.script_run import Limits, Outcome, ScriptRun
from metier.runtime.workspace import Workspace
from runtime.sandbox.escape.runner_choice import runner_at
from runtime.sandbox.escape.stage import Stage, at_every_level, note, supervisor_of, survivors, wait_until


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    outside, folder = tmp_path / "outside", tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text(stage.canary)
    (folder / "notes.txt").write_text("notes\n")
    (folder / "sub/file.txt").write_text("file\n")
    for name in (".env", "sub/.env.local", "id_rsa", "sub/server.key", ".npmrc"):
        (folder / name).write_text(stage.canary)
    (folder / ".aws").mkdir()
    (folder / ".aws/credentials").write_text(stage.canary)
    (folder / "absolute").symlink_to(outside / "secret")
    (folder / "relative").symlink_to("../outside/secret")
    (folder / "linked").symlink_to("../outside")
    (folder / "to-hidden").symlink_to(".env")
    return stage


@pytest.fixture
def workspace(stage: Stage) -> Iterator[Workspace]:
    workspace = Workspace(stage.root / "project")
    yield workspace
    workspace.close()


def run(workspace: Workspace, level: IsolationLevel, line: str, **limits: Any) -> Outcome:
    words = {"seconds": 30, "require": level, **limits}
    code = ScriptRun(script="command.bash", code=line.encode(), workspace=workspace.mount(), limits=Limits(**words))
    return asyncio.run(runner_at(level).run(code))


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (status.st_mode, data)
    return found


@at_every_level
def test_e55_no_link_leads_out_of_the_workspace(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    if not stage.claims("E55", level, Guard.HOME):
        return
    outside = stage.root / "outside"
    ways = ["absolute", "relative", "linked/secret", "../outside/secret", f"{outside}/secret", "new/secret",
            "/proc/self/cwd/../outside/secret", f"/proc/self/root{outside}/secret", "hard"]  # fmt: skip
    line = f"ln -s {outside} new; ln {outside}/secret hard; ln -P absolute hard2; cat " + " ".join(ways)
    outcome = run(workspace, level, line + "; cat hard2; mv ../outside mine; ls ../outside linked/")
    assert stage.canary not in outcome.stdout + outcome.stderr
    assert outcome.stdout == ""


@at_every_level
def test_e56_nothing_is_written_outside(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    if not stage.claims("E56", level, Guard.READ_ONLY):
        return
    before = state(stage.root)
    outside = stage.root / "outside"
    line = (
        f"for way in absolute relative linked/secret ../outside/secret {outside}/new linked/new notes.txt; do\n"
        f"echo changed > $way; done; ln -sfn {outside} sub2; echo x > sub2/new; echo x > ../project/sub/x; "
        f"rm -rf sub; ln -s {outside} sub; echo x > sub/new; "
        "rm linked; mkdir linked; echo x > linked/secret; rm -rf linked/../../outside"
    )
    run(workspace, level, line)
    assert state(stage.root) == before
    workspace.apply()
    assert state(outside) == {"secret": before["outside/secret"]}


@at_every_level
def test_e57_hidden_files_cannot_be_read(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    if not stage.claims("E57", level, Guard.HOME):
        return
    names = ".env sub/.env.local id_rsa sub/server.key .npmrc .aws/credentials to-hidden"
    line = (
        f"cat {names} .ENV ./.env; find . -newer /nothing -o -name '.env*' -o -name id_rsa -o -name .aws; rm -f .env; "
        "cat .env; mv sub moved; cat moved/.env.local moved/server.key; cp -r . /tmp/copy; ln .env two; "
        "cat two; grep -r canary . /tmp; "
        "cat /proc/self/mountinfo; rmdir .aws; mkdir .aws; cat .aws/credentials; ls -A . .aws; getfattr -d .; "
        "for place in $(cut -d' ' -f4,5 /proc/self/mountinfo); do cat $place/.env; done; grep . /proc/self/mounts"
    )
    outcome = run(workspace, level, line)
    assert stage.canary not in outcome.stdout + outcome.stderr
    assert str(stage.root / "outside") not in outcome.stdout


@at_every_level
def test_e58_hidden_files_are_not_written(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    if level.strength < IsolationLevel.LANDLOCK.strength:
        note("E58", level, "not claimed")
        return
    note("E58", level, "held")
    folder = stage.root / "project"
    before = state(folder)
    names = ".env sub/.env.local id_rsa .npmrc .aws/credentials .ssh/config sub/.metier/x .ENV.x .envrc new.pem"
    line = f"mkdir -p .aws .ssh sub/.metier; for name in {names}; do echo poison > $name; done; rm -rf sub; true"
    run(workspace, level, line)
    workspace.apply()
    kept = {path: row for path, row in before.items() if path != "sub/file.txt"}
    assert state(folder) == kept


@at_every_level
def test_e59_the_repository_cannot_be_poisoned(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    if level.strength < IsolationLevel.LANDLOCK.strength:
        note("E59", level, "not claimed")
        return
    note("E59", level, "held")
    folder = stage.root / "project"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".git/config").write_text(f"[http]\n\textraheader = {stage.canary}\n[core]\n\tbare = false\n")
    before = state(folder / ".git")
    line = (
        "cat .git/config .git/hooks/*; mkdir -p .git/hooks; echo 'touch /tmp/x' > .git/hooks/post-checkout; "
        "chmod +x .git/hooks/post-checkout; git config core.fsmonitor /tmp/evil; "
        "printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config; mkdir -p sub/.git new/objects new/refs; "
        "echo '[core]' > sub/.git/config; echo 'gitdir: ../.git' > sub2.git; touch new/HEAD; echo '[core]' > new/config; "
        "mkdir .GIT; echo x > .GIT/config; rm -rf .git/refs; mv .git moved; echo 'gitdir: /tmp' > .git"
    )
    outcome = run(workspace, level, line)
    assert stage.canary not in outcome.stdout + outcome.stderr
    workspace.apply()
    assert state(folder / ".git") == before
    assert not (folder / "sub/.git").exists()
    assert not (folder / "new/config").exists()
    assert not (folder / ".GIT").exists()


@at_every_level
def test_e60_devices_setuid_pipes_and_sockets_are_not_applied(
    stage: Stage, workspace: Workspace, level: IsolationLevel
) -> None:
    note("E60", level, "held")
    run(
        workspace,
        level,
        "cp notes.txt setuid; chmod 4755 setuid; mkfifo pipe; mknod device c 1 3; mknod zero c 0 0; echo x > ok",
    )
    top = Path(workspace.layer) / ("copy" if os.path.isdir(f"{workspace.layer}/copy") else "upper")
    # What a script cannot make at this level, it may make at another one.
    (top / "setuid").chmod(0o4755) if (top / "setuid").exists() else None
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(top, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    if os.geteuid() == 0:
        os.mknod(top / "disk", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    problems = {change.path for change in workspace.changes() if change.problem}
    assert {"setuid", "socket", "pipe"} <= problems
    workspace.apply()
    folder = stage.root / "project"
    assert (folder / "ok").read_text() == "x\n"
    assert not any((folder / name).exists() for name in ("setuid", "pipe", "socket", "disk", "device", "zero"))


@at_every_level
def test_e61_folders_swapped_during_apply_lead_nowhere(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    note("E61", level, "held")
    folder, outside = stage.root / "project", stage.root / "outside"
    before = state(outside)
    run(workspace, level, "for n in $(seq 200); do echo x > sub/new$n; done; echo y > sub/file.txt; rm -f notes.txt")
    stop = threading.Event()

    def swap() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with suppress(OSError):  # the folder was made again meanwhile
                os.rename(folder / "sub", folder / f"aside{number}")
                os.symlink(outside, folder / "sub")
                os.unlink(folder / "sub")
                os.rename(folder / f"aside{number}", folder / "sub")

    racer = threading.Thread(target=swap)
    racer.start()
    try:
        for _ in range(5):
            workspace.apply()
    finally:
        stop.set()
        racer.join()
    assert state(outside) == before


@at_every_level
def test_e62_a_killed_run_changes_nothing(stage: Stage, workspace: Workspace, level: IsolationLevel) -> None:
    note("E62", level, "held")
    before = state(stage.root / "project")
    mount = workspace.mount()
    line = f"echo x > new; echo y >> notes.txt; rm sub/file.txt; echo go > started; exec -a {stage.nonce} sleep 100"
    code = ScriptRun(script="command.bash", code=line.encode(), workspace=mount, limits=Limits(require=level))

    async def kill_supervisor() -> None:
        running = asyncio.create_task(runner_at(level).run(code))
        top = [f"{mount.upper}/started", f"{mount.copy}/started"]
        while not any(map(os.path.exists, top)):
            await asyncio.sleep(0.01)
        while not (found := survivors(stage.nonce)):
            await asyncio.sleep(0.01)
        os.kill(supervisor_of(found[0]), signal.SIGKILL)
        with pytest.raises(UnavailableError):
            await running

    asyncio.run(kill_supervisor())
    wait_until(lambda: survivors(stage.nonce) == [], "the processes of the run end")
    assert state(stage.root / "project") == before
    wait_until(lambda: not workspace.is_in_use, "the layer is free again")


@at_every_level
@pytest.mark.parametrize("line", ["for n in 1 2 3 4; do head -c 3000000 /dev/zero > big$n; done; sleep 60",
                                  "for n in $(seq 3000); do > f$n; done; sleep 60"], ids=["bytes", "files"])  # fmt: skip
def test_e63_the_layer_has_limits(workspace: Workspace, level: IsolationLevel, line: str) -> None:
    if level is IsolationLevel.OFF:
        note("E63", level, "not claimed")
        return
    note("E63", level, "held")
    outcome = run(workspace, level, line, scratch_bytes=4_000_000, scratch_files=1000)
    assert outcome.stop_reason == "scratch"
