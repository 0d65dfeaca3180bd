"""The host that scripts try to get out to: canaries, listeners and a victim, and the run of one attempt against them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from metier.runtime import ContainerRunner
from metier.runtime.sandbox.isolation import Guard, Isolation, IsolationLevel
from metier.runtime.sandbox.plan import SandboxFeatures
from metier.runtime.sandbox.probe import detect_features
from metier.runtime.script_run import Limits, Outcome, ScriptRun
from metier.runtime.scripts.runner import Runner
from runtime.sandbox.escape.runner_choice import IN_CONTAINERS, runner_at

__all__ = [
    "AVAILABLE",
    "LEVELS",
    "WAYS_TO_LIMIT",
    "Stage",
    "at_every_level",
    "note",
    "scratch_folders",
    "supervisor_of",
    "survivors",
    "wait_until",
]

_RUNNER: Runner | ContainerRunner = ContainerRunner() if IN_CONTAINERS else Runner()
AVAILABLE: dict[IsolationLevel, Isolation] = {found.level: found for found in _RUNNER.available()}
LEVELS = list(AVAILABLE)
_HAS_CGROUP = not IN_CONTAINERS and any(found.has(Guard.RUN_MEMORY) for found in AVAILABLE.values())
WAYS_TO_LIMIT: list[SandboxFeatures | None] = [None, replace(detect_features(), cgroup=False)][: 1 + _HAS_CGROUP]
"""This machine, and if it has cgroups, the same machine without them: there memory and processes are measured."""
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)
_ATTEMPTS = [
    Path(__file__).with_name(name)
    for name in ("attempts.py", "attempts_on_limits.py", "attempts_on_network.py", "attempts_on_packages.py")
]
_FIRST_ROWS = ("e43", "e70", "e85")
"""The first row of each further file."""


def note(row: str, level: IsolationLevel, held: str) -> None:
    """Writes one line of the table in docs/sandbox.md, if METIER_ESCAPE_TABLE names a file."""
    if file := os.environ.get("METIER_ESCAPE_TABLE"):
        who = "root" if os.geteuid() == 0 else "user"
        with open(file, "a", encoding="utf-8") as table:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
            table.write(
                json.dumps(
                    {"row": row, "level": "container" if IN_CONTAINERS else level, "held": held, "who": who, "test": test}
                )
                + "\n"
            )


def survivors(nonce: str) -> list[int]:
    """Returns the living processes of the host whose command line holds the nonce."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
            state = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if nonce.encode() in words and state != "Z":
            found.append(int(name))
    return found


def scratch_folders(pid: int) -> list[str]:
    """Returns the scratch folder of a run, from the environment of its process; empty in a namespace."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
    homes = [word.removeprefix(b"HOME=").decode() for word in words if word.startswith(b"HOME=")]
    return [home for home in homes if "/metier-" in home and home.endswith("/scratch")]


def supervisor_of(pid: int) -> int:
    """Returns the nearest ancestor that is a process of the sandbox itself."""
    while b"sandbox.spawner" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        assert pid > 1, "the supervisor was not found"
    return pid


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Polls for something that another process does. The guard is for a test that would hang, not a measurement."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError(f"never happened: {what}")


@dataclass
class Stage:
    """Everything below one temporary folder. `canary` is in each file that must stay hidden."""

    root: Path
    canary: str = field(default_factory=lambda: "canary-" + secrets.token_hex(12))
    nonce: str = field(default_factory=lambda: "nonce-" + secrets.token_hex(12))
    open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.skill = self.root / "skills" / "hostile"
        (self.skill / "scripts").mkdir(parents=True)
        (self.skill / "SKILL.md").write_text("---\nname: hostile\ndescription: Tries. Use when testing.\n---\nDo.\n")
        for script in _ATTEMPTS:
            shutil.copy(script, self.skill / "scripts")
        self.canaries = [self.home / name for name in (".ssh/id_rsa", ".aws/credentials", ".netrc", ".mozilla/logins.json")]
        for path in self.canaries:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.canary)
        (self.home / ".config/autostart").mkdir(parents=True)

    def facts(self, **more: object) -> dict[str, object]:
        paths = [str(path) for path in self.canaries]
        about: dict[str, object] = {"canaries": paths, "home": str(self.home), "skill": str(self.skill), "nonce": self.nonce}
        return {**about, "host": os.getpid(), "sid": os.getsid(0), **more}

    def run(self, name: str, level: IsolationLevel, *, facts: Mapping[str, object] | None = None, **more: Any) -> ScriptRun:
        limits = replace(Limits(seconds=60, argument_bytes=1 << 16, require=level), **more.pop("limits", {}))
        words = (name, json.dumps(self.facts(**(facts or {}))), *more.pop("arguments", ()))
        is_row = name[0] == "e" and name[1:3].isdigit()
        script = _ATTEMPTS[is_row and sum(name >= first for first in _FIRST_ROWS)].name
        return ScriptRun(folder=str(self.skill), script=f"scripts/{script}", arguments=words, limits=limits, **more)

    def attempt(self, name: str, level: IsolationLevel, *, facts: Mapping[str, object] | None = None, **more: Any) -> Outcome:
        """Runs one attempt to its end. Its output must not contain the canary."""
        runner = runner_at(level, features=more.pop("features", None))
        outcome = asyncio.run(runner.run(self.run(name, level, facts=facts, **more)))
        assert outcome.isolation.level is level
        if outcome.isolation.has(Guard.HOME):
            assert self.canary not in outcome.stdout + outcome.stderr
        return outcome

    def attempt_until_started(self, name: str, level: IsolationLevel, **more: Any) -> Outcome:
        """Run an attempt that prints "started" and never ends. On a busy machine the timeout grows until it has started."""
        for seconds in (0.5, 2, 8, 32):
            outcome = self.attempt(name, level, limits={"seconds": seconds}, **more)
            assert (outcome.timed_out, outcome.exit_code, outcome.stop_reason) == (True, None, "time")
            assert survivors(self.nonce) == []
            if outcome.stdout:
                break
        return outcome

    def results(self, name: str, level: IsolationLevel, **more: Any) -> Any:  # Any: JSON
        outcome = self.attempt(name, level, **more)
        assert outcome.exit_code == 0, outcome
        return json.loads(outcome.stdout)

    def state(self) -> dict[str, tuple[object, ...]]:
        """Returns the state of the skill's folder and of the canaries."""
        found: dict[str, tuple[object, ...]] = {}
        for path in (self.skill, *self.skill.rglob("*"), *self.canaries):
            status = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            extra = tuple(os.listxattr(path, follow_symlinks=False))
            found[str(path)] = (
                status.st_mode,
                status.st_uid,
                status.st_gid,
                status.st_mtime_ns,
                status.st_ctime_ns,
                data,
                extra,
            )
        return found

    def claims(self, row: str, level: IsolationLevel, guard: Guard, *, features: SandboxFeatures | None = None) -> bool:
        """Returns True if the level claims this guard. If not, its results and the table say so too.

        The table is about this machine as it is, so a run with other `features` is not noted in it.
        """
        isolation = runner_at(level, features=features).best() if features else AVAILABLE[level]
        assert isolation
        assert (guard.value in isolation.missing) != isolation.has(guard)
        if not features:
            note(row, level, "held" if isolation.has(guard) else "not claimed")
        return isolation.has(guard)

    @contextmanager
    def listening(self, family: int, kind: int, address: Any) -> Iterator[socket.socket]:
        """A socket of the host. At the end of the block, nothing must have reached it."""
        with socket.socket(family, kind) as link:
            link.bind(address)
            if kind == socket.SOCK_STREAM:
                link.listen()
            link.setblocking(False)
            yield link
            with pytest.raises(BlockingIOError):
                link.accept() if kind == socket.SOCK_STREAM else link.recv(64)

    @contextmanager
    def victim(self) -> Iterator[subprocess.Popen[bytes]]:
        """A process of the host that no attempt must affect."""
        code = ("import signal, sys\n"
                "signal.signal(signal.SIGURG, lambda *_: sys.exit(9))\n"
                "print('ready', flush=True)\nsys.stdin.readline()\nprint('alive', flush=True)")  # fmt: skip
        pipe = subprocess.PIPE
        words = [sys.executable, "-I", "-S", "-c", code]
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True) as process:
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            yield process
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"alive\n", "the victim was hit"
