"""Whatever a cloned project holds, no command changes anything but the project and metier's home, hangs or breaks.

300 projects in every run; METIER_FULL=1 makes 20,000, and METIER_HOSTILE=FIRST:LAST those of these numbers.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.hostile_projects import CANARY, COMMANDS, PIECES, World
from cli.shell import ForkServer

COMBINATIONS = 20_000 if os.environ.get("METIER_FULL") else 300
_FIRST, _, _LAST = os.environ.get("METIER_HOSTILE", f"0:{COMBINATIONS}").partition(":")
_PARTS = 10


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """In memory where that can be: ten thousand installations then wait for no disk."""
    folder = tmp_path_factory.mktemp("world")
    if os.access("/dev/shm", os.W_OK):
        folder = Path(tempfile.mkdtemp(prefix="metier-", dir="/dev/shm"))
    (folder / "server").mkdir()
    server = ForkServer(folder / "server", seconds=60)
    yield World(folder / "root", server)
    server.end()
    shutil.rmtree(folder)


def check(world: World, seed: int, seen: Counter[str]) -> None:
    rng, pieces = world.build(seed)
    words, trusted = COMMANDS[seed % len(COMMANDS)], rng.random() < 0.7
    ran = world.run(words, trusted=trusted)
    case = f"project {seed} of {', '.join(pieces)}; trusted: {trusted}; {ran}"
    assert world.outside() == world.before, f"something outside has changed: {case}"
    assert ran.code != -signal.SIGALRM, f"it hangs: {case}"
    assert ran.code >= 0, f"it was killed: {case}"
    assert ran.code != 70, f"an internal error: {case}"
    assert "Traceback" not in ran.err, case
    assert CANARY not in ran.out + ran.err, f"a secret was printed: {case}"
    assert world.holds_canary() == [], f"a secret was written: {case}"
    seen.update(pieces)
    seen[f"exit {ran.code}"] += 1


@pytest.mark.parametrize("part", range(_PARTS))
def test_no_command_changes_anything_outside_of_a_hostile_project(world: World, part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(int(_FIRST) + part, int(_LAST), _PARTS):
        check(world, seed, seen)
    # A generator that makes nothing, or commands that all fail at once, would prove nothing.
    assert seen["exit 0"] > 0
    assert {piece.__name__ for piece in PIECES} <= set(seen) or int(_LAST) - int(_FIRST) < 300


def test_every_command_is_run_in_a_hostile_project() -> None:
    assert len(COMMANDS) <= 300
    assert len(set(COMMANDS)) == len(COMMANDS)


def test_a_change_outside_is_noticed(tmp_path: Path, fork_server: ForkServer) -> None:
    world = World(tmp_path / "root", fork_server)
    file = world.root / "work/outside/notes.md"
    for change in (lambda: file.write_text("other"), lambda: file.chmod(0o600), file.unlink, (file.parent / "new").mkdir):
        change()
        assert world.outside() != world.before
        world.before = world.outside()
