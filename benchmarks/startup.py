"""The start-up time of commands, against `python -c pass` of the same interpreter.

Measures `metier --help`, `metier --version` and `metier skill list` over ten skills and the bundled ones. A listing is
measured warm (nothing has changed since the last run), as the first run after one skill changed, and as the very first
run, without a cache. The targets: 1.5, 1.5 and, warm, 3.0 times the start of Python.

Then `metier doctor` over a thousand skills, against `metier skill list` after one of them changed, which is the least that
reads the catalog anew. The target: 6 times that.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.corpus import make_skills, scratch, toucher
from benchmarks.measure import Contender, Figure, Report, Target, child_environment, compete, options, run, script

_BARE = "python -c pass"
_SKILLS = Path("project") / ".claude" / "skills"
_MANY = 1_000
_MANY_LIST = f"metier skill list, {_MANY:,} skills, after a change"
_MANY_DOCTOR = f"metier doctor, {_MANY:,} skills"
_DOCTOR_LIMIT = 6.0
_LIMITS = {"metier --help": 1.5, "metier --version": 1.5, "metier skill list, warm": 3.0}


def main() -> int:
    chosen = options(__doc__, rounds=60, quick=15)
    report = Report("Start of the command line", as_json=chosen.json)
    with scratch() as folder:
        figures = compete(_contenders(folder), rounds=chosen.rounds)
    report.add_figures(figures)
    report.add_table(
        f"Start of a command, median of {chosen.rounds} (minimum), in ms",
        ("command", "CPU", "x bare", "x bare (minima)", "wall", "x bare wall", "target"),
        (_row(name, figure, figures[_BARE]) for name, figure in figures.items()),
    )
    bare = figures[_BARE].cpu
    report.targets += [Target(what=name, value=figures[name].cpu / bare, limit=limit) for name, limit in _LIMITS.items()]
    ratio = figures[_MANY_DOCTOR].cpu / figures[_MANY_LIST].cpu
    report.targets.append(Target(what=f"{_MANY_DOCTOR}, x skill list after a change", value=ratio, limit=_DOCTOR_LIMIT))
    return report.finish()


def _contenders(folder: Path) -> list[Contender]:
    metier = script("metier")
    used, first = _project(folder / "used"), _project(folder / "first")
    many = _project(folder / "many", _MANY)
    run((metier, "trust"), cwd=many / "project", environment=child_environment(many))
    listing = (metier, "skill", "list")
    look = partial(run, listing, cwd=used / "project", environment=child_environment(used))
    return [
        _command(_BARE, (sys.executable, "-c", "pass"), used),
        _command("metier --help", (metier, "--help"), used),
        _command("metier --version", (metier, "--version"), used),
        _command("metier skill list, after a change", listing, used, toucher(used / _SKILLS)),
        # Warm again after that change, and not only the first time.
        _command("metier skill list, warm", listing, used, look),
        _command("metier skill list, very first", listing, first, partial(shutil.rmtree, first / ".metier", True)),
        _command(_MANY_LIST, listing, many, toucher(many / _SKILLS)),
        _command(_MANY_DOCTOR, (metier, "doctor"), many),
    ]


def _command(name: str, words: tuple[str, ...], home: Path, prepare: Callable[[], object] = lambda: None) -> Contender:
    measure = partial(run, words, cwd=home / "project", environment=child_environment(home))
    return Contender(name=name, measure=measure, prepare=prepare)


def _project(home: Path, count: int = 10) -> Path:
    make_skills(home / _SKILLS, count)
    return home


def _row(name: str, figure: Figure, bare: Figure) -> tuple[str, ...]:
    limit = _LIMITS.get(name)
    return (
        name,
        f"{figure.cpu:.1f} ({figure.cpu_min:.1f})",
        f"{figure.cpu / bare.cpu:.2f}",
        f"{figure.cpu_min / bare.cpu_min:.2f}",
        f"{figure.wall:.1f} ({figure.wall_min:.1f})",
        f"{figure.wall / bare.wall:.2f}",
        f"<= {limit}" if limit else "",
    )


if __name__ == "__main__":
    sys.exit(main())
