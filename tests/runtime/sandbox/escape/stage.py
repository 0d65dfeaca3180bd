"""The host that scripts try to get out to: canaries, listeners and a victim, and the run of one attempt against them."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from metier.runtime.sandbox.isolation import Guard, Isolation, IsolationLevel
from metier.runtime.script_run import Limits, Outcome, ScriptRun
from metier.runtime.scripts.runner import Runner

__all__ = ["AVAILABLE", "LEVELS", "Stage", "at_every_level", "finish", "note", "survivors"]

AVAILABLE: dict[IsolationLevel, Isolation] = {found.level: found for found in Runner().available()}
LEVELS = list(AVAILABLE)
at_every_level = pytest.mark.parametrize("level", LEVELS, ids=str)
_ATTEMPTS = Path(__file__).with_name("attempts.py")


def note(row: str, level: IsolationLevel, held: str) -> None:
    """One line of the table in docs/sandbox.md, if somebody collects them."""
    if file := os.environ.get("METIER_ESCAPE_TABLE"):
        who = "root" if os.geteuid() == 0 else "user"
        with open(file, "a", encoding="utf-8") as table:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
            table.write(json.dumps({"row": row, "level": level, "held": held, "who": who, "test": test}) + "\n")


def survivors(nonce: str) -> list[int]:
    """Living processes of the host whose command line holds the nonce, whatever they made of their parents."""
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


def finish(nonce: str, within: float) -> None:
    deadline = time.monotonic() + within
    while left := survivors(nonce):
        assert time.monotonic() < deadline, f"still alive: {left}"
        time.sleep(0.02)


@dataclass
class Stage:
    """Everything below one temporary folder. `canary` is in each file that must stay out of sight."""

    root: Path
    canary: str = field(default_factory=lambda: "canary-" + secrets.token_hex(12))
    nonce: str = field(default_factory=lambda: "nonce-" + secrets.token_hex(12))
    open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.skill = self.root / "skills" / "hostile"
        (self.skill / "scripts").mkdir(parents=True)
        (self.skill / "SKILL.md").write_text("---\nname: hostile\ndescription: Tries. Use when testing.\n---\nDo.\n")
        shutil.copy(_ATTEMPTS, self.skill / "scripts/attempts.py")
        self.canaries = [self.home / name for name in (".ssh/id_rsa", ".aws/credentials", ".netrc", ".mozilla/logins.json")]
        for path in self.canaries:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.canary)
        (self.home / ".config/autostart").mkdir(parents=True)

    def facts(self, **more: object) -> dict[str, object]:
        paths = [str(path) for path in self.canaries]
        about: dict[str, object] = {"canaries": paths, "home": str(self.home), "skill": str(self.skill), "nonce": self.nonce}
        return {**about, "host": os.getpid(), "sid": os.getsid(0), **more}

    def run(self, name: str, level: IsolationLevel, *, facts: dict[str, object] | None = None, **more: Any) -> ScriptRun:
        limits = replace(Limits(seconds=10, argument_bytes=1 << 16, require=level), **more.pop("limits", {}))
        words = (name, json.dumps(self.facts(**(facts or {}))), *more.pop("arguments", ()))
        return ScriptRun(folder=str(self.skill), script="scripts/attempts.py", arguments=words, limits=limits, **more)

    def attempt(self, name: str, level: IsolationLevel, *, facts: dict[str, object] | None = None, **more: Any) -> Outcome:
        """Run one attempt to its end. Whatever it was, the canary must not have come out of it."""
        outcome = asyncio.run(Runner(level=level).run(self.run(name, level, facts=facts, **more)))
        assert outcome.isolation.level is level
        if outcome.isolation.has(Guard.HOME):
            assert self.canary not in outcome.stdout + outcome.stderr
        return outcome

    def told(self, name: str, level: IsolationLevel, **more: Any) -> Any:  # Any: JSON
        outcome = self.attempt(name, level, **more)
        assert outcome.exit_code == 0, outcome
        return json.loads(outcome.stdout)

    def state(self) -> dict[str, tuple[object, ...]]:
        """The skill's folder and the canaries, as exactly as the system can tell."""
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

    def claims(self, row: str, level: IsolationLevel, guard: Guard) -> bool:
        """Does the level say that it holds this? If not, its results say so too, and the table."""
        isolation = AVAILABLE[level]
        if isolation.has(guard):
            note(row, level, "held")
            return True
        assert guard.value in isolation.missing
        note(row, level, "not claimed")
        return False

    @contextmanager
    def listening(self, family: int, kind: int, address: Any) -> Iterator[socket.socket]:
        """A socket of the host. On leaving, nobody must have reached it."""
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
        """A process of ours that must not feel anything."""
        code = ("import signal, sys, time\n"
                "signal.signal(signal.SIGURG, lambda *_: sys.exit(9))\n"
                "print('ready', flush=True)\ntime.sleep(60)")  # fmt: skip
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
            time.sleep(0.1)
            assert process.poll() is None, "the victim was hit"
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
