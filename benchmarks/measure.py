"""The harness of all benchmarks: runs contenders in turn and reports the results.

The machine may be busy with other work. So contenders take turns within each round, in an order that rotates with every
round, and a figure is the median over the rounds (the minimum stands beside it). CPU time is that of the process and all
its children, as the kernel counted it; it excludes other processes, so the targets use it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

__all__ = [
    "Contender",
    "Figure",
    "Report",
    "Sample",
    "Target",
    "child_environment",
    "compete",
    "options",
    "random_part",
    "run",
    "script",
    "table",
]

T = TypeVar("T")
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one program."""

    wall: float
    cpu: float
    peak: float = 0.0
    """The most memory it held at once, in MB, where that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    name: str
    measure: Callable[[], Sample]
    prepare: Callable[[], object] = lambda: None
    """Called before each run, outside the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The summary of one contender's runs, in milliseconds."""

    cpu: float
    cpu_min: float
    wall: float
    wall_min: float
    peak: float
    """In MB; the highest of all runs."""
    runs: int

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Figure:
        cpu = [sample.cpu * 1000 for sample in samples]
        wall = [sample.wall * 1000 for sample in samples]
        peak = max(sample.peak for sample in samples)
        return cls(cpu=median(cpu), cpu_min=min(cpu), wall=median(wall), wall_min=min(wall), peak=peak, runs=len(samples))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    what: str
    value: float
    limit: float
    unit: str = "x"
    at_least: bool = False
    """More is better, and `limit` is the least."""

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def row(self) -> tuple[str, ...]:
        verdict = "met" if self.is_met else "MISSED"
        wanted = f"{'>=' if self.at_least else '<='} {self.limit:g} {self.unit}"
        return (self.what, f"{self.value:.3g} {self.unit}", wanted, verdict)


class Report:
    """Tables and targets, printed one by one as text, or at the end as one JSON object."""

    def __init__(self, title: str, *, as_json: bool) -> None:
        self.as_json = as_json
        self.tables: dict[str, list[dict[str, str]]] = {}
        self.figures: dict[str, dict[str, float]] = {}
        self.targets: list[Target] = []
        self.machine = {
            "python": platform.python_version(),
            "system": platform.platform(),
            "processors": os.cpu_count(),
            "load before": _load(),
        }
        self.title = title
        self.say(f"{title}\n" + ", ".join(f"{name} {value}" for name, value in self.machine.items()))

    def say(self, text: str) -> None:
        if not self.as_json:
            print(text, flush=True)

    def add_table(self, title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        rows = [tuple(row) for row in rows]
        self.tables[title] = [dict(zip(head, row, strict=True)) for row in rows]
        self.say(f"\n{title}\n{table(head, rows)}")

    def add_figures(self, figures: Mapping[str, Figure], *, within: str = "") -> None:
        """Keeps the exact numbers for the JSON; the table rounds them."""
        self.figures |= {f"{within}{name}": asdict(figure) for name, figure in figures.items()}

    def finish(self) -> int:
        """Returns the exit status: 1 if a target was missed."""
        self.machine["load after"] = _load()
        self.add_table("Targets", ("target", "measured", "wanted", "verdict"), (target.row() for target in self.targets))
        self.say(f"load after {self.machine['load after']}")
        if self.as_json:
            targets = [{**asdict(target), "met": target.is_met} for target in self.targets]
            body = {"benchmark": self.title, "machine": self.machine, "figures": self.figures, "targets": targets}
            print(json.dumps({**body, "tables": self.tables}, indent=2, ensure_ascii=False))
        return 0 if all(target.is_met for target in self.targets) else 1


def options(description: str | None, *, rounds: int, quick: int, flags: Mapping[str, str] = {}) -> argparse.Namespace:
    """Parses the options of every benchmark and its own `flags`. `rounds` and `quick` are the numbers of runs per contender."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"fewer rounds ({quick} instead of {rounds}), smaller sizes")
    parser.add_argument("--rounds", type=int, help="how often each contender runs")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    for flag, text in flags.items():
        parser.add_argument(f"--{flag}", action="store_true", help=text)
    chosen = parser.parse_args()
    chosen.rounds = chosen.rounds or (quick if chosen.quick else rounds)
    return chosen


def random_part(items: Sequence[T], limit: int) -> list[T]:
    """Returns a random part, the same each time; all for 0."""
    if not limit or limit >= len(items):
        return list(items)
    return random.Random(1).sample(items, limit)


def compete(contenders: Sequence[Contender], *, rounds: int) -> dict[str, Figure]:
    """Runs each contender once to warm up, then in turn for `rounds` rounds."""
    samples: dict[str, list[Sample]] = {contender.name: [] for contender in contenders}
    for number in range(-1, rounds):
        first = number % len(contenders)
        for contender in (*contenders[first:], *contenders[:first]):
            contender.prepare()
            sample = contender.measure()
            if number >= 0:
                samples[contender.name].append(sample)
    return {name: Figure.of(found) for name, found in samples.items()}


def run(command: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> Sample:
    """Runs a program to its end and discards its output; it must succeed."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    # wait4 gives the times of this one child and of what it waited for; RUSAGE_CHILDREN adds all up since the start.
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Sample(wall, usage.ru_utime + usage.ru_stime)


def child_environment(home: Path, **more: str) -> dict[str, str]:
    """Returns an environment with only the path: no PYTHONDONTWRITEBYTECODE, no settings of the user."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "METIER_HOME": str(home / ".metier"), "METIER_TRUST": "1", **more}


def script(name: str) -> str:
    """Returns the path of a command in the current Python environment."""
    file = Path(sys.executable).parent / name
    if not file.exists():
        raise SystemExit(f"{file} is missing; run `uv sync` first")
    return str(file)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table that can be pasted into the documentation."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    cells = [
        [
            text.ljust(width) if not column else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    rule = ["-" * width if not column else "-" * (width - 1) + ":" for column, width in enumerate(widths)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (cells[0], rule, *cells[1:]))


def _load() -> str:
    return " ".join(f"{value:.2f}" for value in os.getloadavg())
