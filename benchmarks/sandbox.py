"""The cost of a run in the sandbox over a plain subprocess, and fifty concurrent runs without a mix-up.

Compares `true` as a script of a skill, at every level of this machine, with `subprocess.run` of the same file and the same
pipes, in turn. Targets: at most 12 ms more at level namespace and 8 ms more at landlock (median of the differences within a
round), 20 ms more in a namespace with the proxy of granted hosts, 25 with a masked secret, and fifty concurrent runs with
different limits, each with its own result. A Python script with prepared packages, whose files are checked before the run,
takes at most 10 ms more than the same script without. The spawner, the process that runs are forked from, is started once and
not counted; its start is printed beside the table.

A workspace of 100,000 files may cost at most 15 ms more than a run without one, at level namespace and in the same rounds. The
first run reads the whole tree for hidden files; its time is printed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Report, Target, options
from metier.install import BuiltPackage, EnvironmentCache, LockedPackages
from metier.runtime import (
    Guard,
    Interpreters,
    IsolationLevel,
    Limits,
    MaskedSecret,
    Outcome,
    PackageMount,
    Runner,
    ScriptRun,
    Workspace,
)
from metier.spec import PackageEcosystem
from metier.values import replace

_LIMITS = {IsolationLevel.NAMESPACE: 12.0, IsolationLevel.LANDLOCK: 8.0}
_PROXY = "namespace with the proxy"
_MASKED = "namespace with a masked secret"
_PACKAGES_LIMIT, _FILES = 10.0, 1500
_WORKSPACE = "namespace with a workspace, more than without"
_SETTLED = 2.5
"""Seconds after which a folder that has just been written is no longer read again."""
_ECHO = 'echo "$1 $NUMBER $(pwd) $(ulimit -n)"'


def main() -> int:
    chosen = options(__doc__, rounds=100, quick=25)
    report = Report("The sandbox", as_json=chosen.json)
    with _skill() as folder:
        started = time.perf_counter()
        levels = [found.level for found in Runner().available()]
        report.say(f"spawner started and {len(levels)} levels probed in {(time.perf_counter() - started) * 1000:.0f} ms")
        more = asyncio.run(_overhead(folder, levels, chosen.rounds))
        wrong, took = asyncio.run(_many(folder, levels))
        packages = asyncio.run(_packages(folder, chosen.rounds))
        if IsolationLevel.NAMESPACE in levels:
            more |= _with_workspace(folder, chosen.rounds, report)
    rows = [(name, f"{median(times):.1f}", f"{_quartile(times):.1f}", f"{min(times):.1f}") for name, times in more.items()]
    head = ("run of `true`", "median", "lower quartile", "minimum")
    report.add_table(f"More than a bare subprocess, in ms, {chosen.rounds} rounds", head, rows)
    more_by_packages = [with_ - without for without, with_ in packages]
    python = [(name, f"{median(times):.1f}", f"{_quartile(times):.1f}", f"{min(times):.1f}")
              for name, times in (("without", [each[0] for each in packages]), ("prepared", [each[1] for each in packages]),
                                  ("difference", more_by_packages))]  # fmt: skip
    head = (f"run of `print(1)`, {_FILES} files prepared", "median", "lower quartile", "minimum")
    report.add_table("Packages: more than a bare subprocess of the same Python, in ms", head, python)
    what = "prepared packages, more than without (median)"
    report.targets.append(Target(what=what, value=median(more_by_packages), limit=_PACKAGES_LIMIT, unit="ms"))
    report.add_table("Fifty at once", ("runs", "mixed up", "seconds"), [("50", str(wrong), f"{took:.2f}")])
    for level, limit in _LIMITS.items():
        if level in levels:
            report.targets.append(
                Target(what=f"{level}, more than bare (median)", value=median(more[level]), limit=limit, unit="ms")
            )
        else:
            report.say(f"level {level} cannot be had here, so it is not measured")
    for name, limit in ((_PROXY, 20.0), (_MASKED, 25.0)) if IsolationLevel.NAMESPACE in levels else ():
        report.targets.append(Target(what=f"{name}, more than bare (median)", value=median(more[name]), limit=limit, unit="ms"))
    if _WORKSPACE in more:
        report.targets.append(
            Target(
                what="a workspace of 100,000 files, more than a run without",
                value=median(more[_WORKSPACE]),
                limit=15.0,
                unit="ms",
            )
        )
    report.targets.append(Target(what="mixed-up runs of fifty", value=wrong, limit=0, unit=""))
    return report.finish()


async def _overhead(folder: str, levels: list[IsolationLevel], rounds: int) -> dict[str, list[float]]:
    """Returns for each level the time beyond the bare run of the same round. The first round warms up."""
    kinds = {level.value: (Runner(level=level), _true(folder, level)) for level in levels}
    if IsolationLevel.NAMESPACE in levels:
        runner, run = kinds[IsolationLevel.NAMESPACE]
        secret = MaskedSecret(name="API_KEY", value="value of a secret", hosts=("example.com",))
        kinds[_PROXY] = (runner, replace(run, hosts=("example.com",)))
        kinds[_MASKED] = (runner, replace(run, hosts=("example.com",), masked=(secret,)))
    names = list(kinds)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-1, rounds):
        first = number % len(names)
        bare = _timed(lambda: subprocess.run([f"{folder}/bin/true"], cwd=folder, env={}, stdin=subprocess.DEVNULL,
                                             capture_output=True, check=True))  # fmt: skip
        for name in (*names[first:], *names[:first]):
            runner, run = kinds[name]
            started = time.perf_counter()
            outcome = await runner.run(run)
            took = time.perf_counter() - started
            if not outcome.ok:
                raise SystemExit(f"true failed at {name}: {outcome}")
            if number >= 0:
                times[name].append((took - bare) * 1000)
    return times


async def _packages(folder: str, rounds: int) -> list[tuple[float, float]]:
    """Returns the times of a Python script beyond a bare run of the same round: without packages, and with prepared ones."""
    cache = EnvironmentCache(f"{folder}/cache")
    locked = LockedPackages(path="scripts/one.py", kind=PackageEcosystem.PYTHON, declared=f"sha256:{'0' * 64}", python="3.11")
    built = cache.build(locked, _build)
    interpreters = Interpreters(which=lambda name: sys.executable if name == "python3" else shutil.which(name))
    runner, found = Runner(interpreters=interpreters), []
    bare = [built.python, "-I", "-c", "print(1)"]
    for number in range(-1, rounds):
        base = _timed(lambda: subprocess.run(bare, env={}, stdin=subprocess.DEVNULL, capture_output=True, check=True))
        times = {}
        for with_packages in (False, True) if number % 2 else (True, False):
            started = time.perf_counter()
            checked = cache.find(locked) if with_packages else None
            mount = PackageMount(kind=PackageEcosystem.PYTHON, folder=checked.tree, python=checked.python) if checked else None
            outcome = await runner.run(ScriptRun(folder=folder, script="scripts/one.py", packages=mount))
            times[with_packages] = (time.perf_counter() - started - base) * 1000
            if not outcome.ok:
                raise SystemExit(f"the script failed: {outcome}")
        if number >= 0:
            found.append((times[False], times[True]))
    return found


def _build(tree: str, _: str) -> tuple[str, tuple[BuiltPackage, ...]]:
    """As many files as polars and its bytecode have."""
    for number in range(_FILES):
        path = Path(tree) / f"package{number % 40}" / f"module{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("VALUE = 1\n")
    return sys.executable, ()


def _with_workspace(folder: str, rounds: int, report: Report) -> dict[str, list[float]]:
    """Returns the time that a large workspace adds to a run, and the part of it that looks for hidden files."""
    with tempfile.TemporaryDirectory(prefix="metier-bench-") as place:
        tree = Path(place).resolve() / "tree"
        for number in range(1000):
            inner = tree / f"part{number // 40}" / f"folder{number}"
            inner.mkdir(parents=True)
            for file in range(100):
                (inner / f"file{file}.txt").touch()
            if number % 50 == 0:
                (inner / ".env").write_text("TOKEN=x")
        workspace = Workspace(tree, cache=f"{place}/cache")
        first = _timed(workspace.mount)
        report.say(f"first look at 100,000 files in {first * 1000:.0f} ms")
        time.sleep(_SETTLED)
        workspace.mount()
        try:
            return asyncio.run(_rounds_with_workspace(folder, workspace, rounds))
        finally:
            workspace.close()


async def _rounds_with_workspace(folder: str, workspace: Workspace, rounds: int) -> dict[str, list[float]]:
    runner = Runner(level=IsolationLevel.NAMESPACE)
    plain = _true(folder, IsolationLevel.NAMESPACE)
    times: dict[str, list[float]] = {_WORKSPACE: [], "looking for its hidden files": []}
    for number in range(-1, rounds):
        started = time.perf_counter()
        await runner.run(plain)
        alone = time.perf_counter() - started
        started = time.perf_counter()
        mount = workspace.mount()
        looked = time.perf_counter() - started
        outcome = await runner.run(replace(plain, workspace=mount))
        took = time.perf_counter() - started
        if not outcome.ok:
            raise SystemExit(f"true failed in the workspace: {outcome}")
        if number >= 0:
            times[_WORKSPACE].append((took - alone) * 1000)
            times["looking for its hidden files"].append(looked * 1000)
    return times


async def _many(folder: str, levels: list[IsolationLevel]) -> tuple[int, float]:
    """Returns how many of fifty concurrent runs saw data of another run."""
    runs = [
        (levels[number % len(levels)],
         ScriptRun(folder=folder, script="scripts/echo.sh", arguments=(f"word-{number}",), environment={"NUMBER": str(number)},
             hosts=("example.com",) if _has_network(number, levels[number % len(levels)]) else (),
             limits=Limits(open_files=64 + number, require=levels[number % len(levels)])))
        for number in range(50)
    ]  # fmt: skip
    started = time.perf_counter()
    outcomes = await asyncio.gather(*(Runner(level=level).run(run) for level, run in runs))
    took = time.perf_counter() - started
    wrong = sum(not _is_own(number, level, run, outcome)
                for number, ((level, run), outcome) in enumerate(zip(runs, outcomes, strict=True)))  # fmt: skip
    return wrong, took


def _has_network(number: int, level: IsolationLevel) -> bool:
    return number % 2 == 0 and level is IsolationLevel.NAMESPACE


def _is_own(number: int, level: IsolationLevel, run: ScriptRun, outcome: Outcome) -> bool:
    word, variable, folder, files = outcome.stdout.split()
    own = (word, variable, folder) == (f"word-{number}", str(number), run.folder)
    files_are_own = level is IsolationLevel.OFF or int(files) == 64 + number
    confined = level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK) and not run.hosts
    return own and files_are_own and outcome.isolation.level is level and outcome.isolation.has(Guard.NETWORK) == confined


def _true(folder: str, level: IsolationLevel) -> ScriptRun:
    return ScriptRun(folder=folder, script="bin/true", named=("bin/true",), limits=Limits(require=level))


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _quartile(times: list[float]) -> float:
    return sorted(times)[len(times) // 4]


@contextmanager
def _skill() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="metier-bench-") as folder:
        folder = os.path.realpath(folder)
        for name in ("bin", "scripts"):
            os.mkdir(f"{folder}/{name}")
        shutil.copy(shutil.which("true") or "/bin/true", f"{folder}/bin/true")
        Path(f"{folder}/SKILL.md").write_text("---\nname: bench\ndescription: Measures. Use when measuring.\n---\n")
        Path(f"{folder}/scripts/echo.sh").write_text(_ECHO)
        Path(f"{folder}/scripts/one.py").write_text("print(1)\n")
        yield folder


if __name__ == "__main__":
    sys.exit(main())
