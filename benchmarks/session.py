"""The cost of a session: reading a resource compared with open and read, and activating a skill of 5,000 tokens.

Both run in this process, in turns, thousands of times. Reading a resource checks the path and walks directory descriptors, so
that no link leads out of the skill; it may take three times as long as `open(path, "rb").read()`. An activation reads and
parses the file, fills in and escapes the text, wraps it and writes to the SQLite file of the session; it must take less than
2 ms.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import metier
from benchmarks.corpus import scratch
from benchmarks.measure import Contender, Figure, Report, Sample, Target, compete, options
from metier.runtime import Session, SessionServices, SqlSessionStore

_BARE = "open and read"
_READ = "session.read"
_ACTIVATE = "session.activate, 5,000 tokens"
_TIMES = {_BARE: 2_000, _READ: 2_000, _ACTIVATE: 50}


def main() -> int:
    chosen = options(__doc__, rounds=30, quick=8)
    report = Report("A session", as_json=chosen.json)
    with scratch() as folder:
        figures = compete(_contenders(folder), rounds=chosen.rounds)
    report.add_figures(figures)
    report.add_table(
        f"One call, median of {chosen.rounds} rounds (minimum), in µs",
        ("call", "CPU", "wall"),
        (_row(name, figure) for name, figure in figures.items()),
    )
    once = {name: figure.cpu / _TIMES[name] for name, figure in figures.items()}
    report.targets += [
        Target(what="a resource read, beside a bare open and read", value=once[_READ] / once[_BARE], limit=3.0),
        Target(
            what="an activation of 5,000 tokens", value=figures[_ACTIVATE].wall_min / _TIMES[_ACTIVATE], limit=2.0, unit="ms"
        ),
    ]
    return report.finish()


def _contenders(folder: Path) -> list[Contender]:
    skill = _skill(folder / "skills")
    session = Session(
        metier.discover(folder / "skills"), services=SessionServices(store=SqlSessionStore(folder / "sessions.sqlite"))
    )
    file = str(skill / "references" / "guide.md")

    def bare() -> None:
        with open(file, "rb") as stream:
            stream.read()

    def activate() -> None:
        text = session.activate("large").text
        assert len(text) > 20_000
        session.deactivate("large")

    calls: dict[str, Callable[[], object]] = {
        _BARE: bare,
        _READ: partial(session.read, "large", "references/guide.md"),
        _ACTIVATE: activate,
    }
    return [Contender(name=name, measure=partial(_measured, call, _TIMES[name])) for name, call in calls.items()]


def _measured(call: Callable[[], object], times: int) -> Sample:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        call()
    return Sample(time.perf_counter() - wall, time.process_time() - cpu)


def _skill(root: Path) -> Path:
    folder = root / "large"
    (folder / "references").mkdir(parents=True)
    (folder / "scripts").mkdir()
    lines = [
        f"## Step {number}\n\nLook at `scripts/run.py`, then go on — carefully – with ${{SKILL_DIR}}.\n"
        for number in range(1, 270)
    ]
    head = "name: large\ndescription: A large skill. Use when measuring.\nlicense: MIT\nmetadata:\n  version: '1.0'\n"
    (folder / "SKILL.md").write_text(f"---\n{head}---\n\n{''.join(lines)}", encoding="utf-8")
    (folder / "references" / "guide.md").write_text("A line of the guide.\n" * 200, encoding="utf-8")
    (folder / "scripts" / "run.py").write_text("print('done')\n", encoding="utf-8")
    return folder


def _row(name: str, figure: Figure) -> tuple[str, ...]:
    times = _TIMES[name] / 1000
    return (
        name,
        f"{figure.cpu / times:.1f} ({figure.cpu_min / times:.1f})",
        f"{figure.wall / times:.1f} ({figure.wall_min / times:.1f})",
    )


if __name__ == "__main__":
    sys.exit(main())
