"""Escape suite, E46-E49, E52-E54: what other processes have in common with a script, and the supervisor itself."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from metier.errors import UnavailableError
from metier.runtime.sandbox import spawner_client
from metier.runtime.sandbox.isolation import Guard, IsolationLevel
from metier.runtime.sandbox.plan import SandboxFeatures
from metier.runtime.sandbox.probe import detect_features
from metier.runtime.scripts.runner import Runner
from runtime.sandbox.escape.runner_choice import runner_at
from runtime.sandbox.escape.stage import (
    LEVELS,
    WAYS_TO_LIMIT,
    Stage,
    at_every_level,
    scratch_folders,
    supervisor_of,
    survivors,
    wait_until,
)

LIBC = ctypes.CDLL(None, use_errno=True)
DENIED = {"EPERM", "EACCES", "ENOSYS", "ENOENT", "ESRCH", "ENOTSUP", "EINVAL"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@contextmanager
def ipc_of_the_host() -> Iterator[dict[str, object]]:
    """A System V queue, a semaphore and a segment, and a POSIX queue, of this user. At the end they must be as they were."""
    key = secrets.randbelow(1 << 30) + 1
    name = f"/metier-{secrets.token_hex(8)}"
    queue, semaphores = LIBC.msgget(key, 0o1600), LIBC.semget(key, 1, 0o1600)
    segment = LIBC.shmget(key, ctypes.c_size_t(4096), 0o1600)
    mq = LIBC.mq_open(name.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
    try:
        yield {"key": key, "queue": queue, "semaphores": semaphores, "segment": segment, "mq": name}
        buffer = ctypes.create_string_buffer(64)
        assert LIBC.msgrcv(queue, buffer, ctypes.c_size_t(32), ctypes.c_long(0), 0o4000) == -1, "a message came through"
        assert ctypes.get_errno() == 42, "the queue is gone"  # ENOMSG
        assert LIBC.semctl(semaphores, 0, 12) == 0, "the semaphore changed"  # GETVAL
        assert LIBC.mq_unlink(name.encode()) == 0 or mq < 0, "the POSIX queue is gone"
    finally:
        LIBC.msgctl(queue, 0, None)
        LIBC.semctl(semaphores, 0, 0)
        LIBC.shmctl(segment, 0, None)
        LIBC.mq_unlink(name.encode())


@at_every_level
def test_e46_queues_semaphores_and_segments_of_the_host_are_out_of_reach(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E46", level, Guard.MEMORY):
        with ipc_of_the_host() as facts:
            results = stage.results("e46", level, facts=facts)
        assert set(results.values()) == {"EPERM"}, results


@at_every_level
def test_e47_other_folders_cannot_be_watched_nor_attributes_read(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E47", level, Guard.HOME):
        try:
            os.setxattr(stage.canaries[0], "user.secret", stage.canary.encode())
        except OSError:
            pass  # a file system without them; the list is tried all the same
        results = stage.results("e47", level)
        results.pop("inotify")
        assert set(results.values()) <= DENIED, results


@at_every_level
@pytest.mark.parametrize("features", WAYS_TO_LIMIT, ids=["default", "measured"][: len(WAYS_TO_LIMIT)])
def test_e48_a_killed_supervisor_leaves_no_process_and_no_folder(
    stage: Stage, level: IsolationLevel, features: SandboxFeatures | None
) -> None:
    assert stage.claims("E48", level, Guard.TREE)
    found: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(runner_at(level, features=features).run(stage.run("e48", level)))
        except UnavailableError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: len(survivors(stage.nonce)) >= 12, "the tree has grown")
    scratch = [path for pid in survivors(stage.nonce) for path in scratch_folders(pid)]
    groups = [place for pid in survivors(stage.nonce) for place in cgroups_of(pid)]
    os.kill(supervisor_of(survivors(stage.nonce)[0]), signal.SIGKILL)
    thread.join()
    assert [str(error) for error in found] == ["the run was lost: the supervisor of the run has ended"]
    wait_until(lambda: survivors(stage.nonce) == [], "all processes end")
    wait_until(lambda: not any(os.path.exists(os.path.dirname(path)) for path in scratch), "the scratch folder is removed")
    wait_until(lambda: not any(map(os.path.exists, groups)), "the cgroup is removed")
    assert runner_at(level).best(), "the next run works"


def cgroups_of(pid: int) -> list[str]:
    """Returns the folders of the cgroups of a run that this process is in."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return []
    paths = [line.split(":", 2) for line in lines if "metier.run." in line]
    return [f"/sys/fs/cgroup/{controller}{path}" for _, controller, path in paths]


def abis() -> list[int]:
    return list(range(1, detect_features().abi + 1)) if IsolationLevel.LANDLOCK in LEVELS else []


@pytest.mark.parametrize("abi", abis())
def test_e49_no_version_of_landlock_lets_a_script_end_its_supervisor(stage: Stage, abi: int) -> None:
    features = replace(detect_features(), abi=abi)
    runner = Runner(level=IsolationLevel.LANDLOCK, features=features)
    isolation = runner.best()
    assert isolation
    assert isolation.has(Guard.SUPERVISION)
    assert isolation.has(Guard.SIGNALS) == (abi >= 6)
    check_supervisor_survives(stage, IsolationLevel.LANDLOCK, features=features)


@at_every_level
def test_e49_a_script_cannot_end_its_supervisor(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E49", level, Guard.SUPERVISION):
        check_supervisor_survives(stage, level)


def check_supervisor_survives(stage: Stage, level: IsolationLevel, **more: SandboxFeatures) -> None:
    assert stage.attempt("e53", level, facts={"victim": os.getpid()}).ok  # so there is a spawner
    process = spawner_client._SPAWNER.process
    assert process
    results = stage.results("e49", level, facts={"spawner": process.pid}, **more)
    results.pop("kill all")
    # The owner of a descriptor may be set; that no signal follows is what this run has shown by ending well.
    allowed = {name for name, result in results.items() if result == "ok" and not name.startswith("owner")}
    # In a namespace the ids of its own init process are within reach, and the kernel ignores what it does to that.
    assert level is IsolationLevel.NAMESPACE or not allowed, results
    assert process.poll() is None


@at_every_level
def test_e52_file_systems_get_no_special_orders(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E52", level, Guard.SYSCALLS):
        results = stage.results("e52", level)
        assert set(results["files"].values()) == {"ENOTTY"}, results
        assert results["pipe"] == 4


@at_every_level
def test_e53_other_processes_cannot_be_found(stage: Stage, level: IsolationLevel) -> None:
    with stage.victim() as victim:
        results = stage.results("e53", level, facts={"victim": victim.pid})
    if stage.claims("E53", level, Guard.IDS):
        assert set(results.values()) == {"ESRCH"}, results
    elif level is IsolationLevel.LANDLOCK:
        assert (results["session"], results["pidfd"]) == ("EPERM", "ENOSYS")


@at_every_level
def test_e54_the_tables_of_the_kernel_are_closed(stage: Stage, level: IsolationLevel) -> None:
    if stage.claims("E54", level, Guard.HOME):
        assert not [name for name, result in stage.results("e54", level).items() if result == "ok"]


_HONEST = """
set -e
cd "$HOME"
cp -a "$SKILL_DIR" copy
cp -r "$SKILL_DIR" plain
tar cf a.tar copy
mkdir out
tar xf a.tar -C out
ls -l out/copy > list
python3 - <<'PYTHON'
import asyncio, json, os, shutil, signal, subprocess
shutil.copytree("copy", "again")
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
os.killpg(os.getpgid(child.pid), signal.SIGTERM)
child.wait()
async def main():
    process = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
    return (await process.communicate())[0]
memory = os.memfd_create("x")
os.write(memory, b"x")
print(json.dumps([asyncio.run(main()).decode(), child.returncode, os.nice(1) >= 1]))
PYTHON
"""


@at_every_level
def test_honest_programs_still_work(stage: Stage, level: IsolationLevel) -> None:
    (stage.skill / "scripts/honest.sh").write_text(_HONEST)
    run = replace(stage.run("e53", level), script="scripts/honest.sh", arguments=())
    outcome = asyncio.run(runner_at(level).run(run))
    assert (outcome.exit_code, outcome.stderr) == (0, ""), outcome
    assert json.loads(outcome.stdout) == ["hi\n", -signal.SIGTERM, True]
