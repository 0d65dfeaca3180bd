"""Discovery of 10,000 skills from Python: metier against deepagents, and against the least work that any program must do.

Every measurement is a process of its own, in CPU time, without imports. metier is measured cold (no cache), cold while it
writes its cache, and warm. The others: deepagents 0.7 (its SkillsMiddleware before an agent's first turn; the quickest
Python peer), merely reading the same heads of 8 KiB and parsing them with the YAML loader that metier uses, and a bare
scandir + stat of each SKILL.md. Then metier at 1,000, 10,000 and 100,000 skills, as time per skill.

The targets: cold 0.1 and warm 0.03 times deepagents; cold 2.0 times heads and parser; warm 2.5 times the bare walk; a peak
of 80 MB; and at 100,000 skills at most 1.5 times the time per skill of 10,000.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.corpus import make_skills, scratch
from benchmarks.measure import Contender, Figure, Report, Sample, Target, child_environment, compete, options
from benchmarks.peers import DEEPAGENTS, python_peer

_PROBE = Path(__file__).with_name("probe.py")
_COLD, _WRITING, _WARM = "metier, cold", "metier, cold and writing its cache", "metier, warm"
_DEEPAGENTS, _HEADS, _WALK = "deepagents", "heads + yaml_rs", "scandir + stat"
_LIMITS = ((_COLD, _DEEPAGENTS, 0.1), (_WARM, _DEEPAGENTS, 0.03), (_COLD, _HEADS, 2.0), (_WARM, _WALK, 2.5))
_MOST_MEGABYTES = 80.0
_STRAIGHT = 1.5
"""How much dearer a skill may be among ten times as many before we no longer call the growth linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Runs probe.py once each time it is called."""

    kind: str
    skills: Path
    size: int
    cache: Path | None = None
    python: str = sys.executable

    def __call__(self) -> Sample:
        words = [self.python, str(_PROBE), self.kind, str(self.skills), *([str(self.cache)] if self.cache else ())]
        environment = child_environment(self.skills.parent)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr}")
        said = json.loads(done.stdout)
        if said["found"] != self.size:
            raise SystemExit(f"{self.kind} found {said['found']} of {self.size} skills")
        return Sample(said["wall"], said["cpu"], said["peak"])

    def forget(self) -> None:
        if self.cache:
            self.cache.unlink(missing_ok=True)


def main() -> int:
    chosen = options(__doc__, rounds=7, quick=3)
    report = Report("Discovery in process", as_json=chosen.json)
    size = 1_000 if chosen.quick else 10_000
    report.say(f"against {DEEPAGENTS}")
    with scratch() as folder:
        _compare(report, folder, size, chosen.rounds)
    sizes = (1_000, 10_000) if chosen.quick else (1_000, 10_000, 100_000)
    with scratch() as folder:
        _grow(report, folder, sizes, min(chosen.rounds, 5))
    return report.finish()


def _compare(report: Report, folder: Path, size: int, rounds: int) -> None:
    skills = make_skills(folder / "skills", size)
    deepagents = Probe(kind="deepagents", skills=skills, size=size, python=str(python_peer(DEEPAGENTS) / "python"))
    contenders = [
        *_metier(skills, size),
        Contender(name=_DEEPAGENTS, measure=deepagents),
        Contender(name=_HEADS, measure=Probe(kind="heads", skills=skills, size=size)),
        Contender(name=_WALK, measure=Probe(kind="walk", skills=skills, size=size)),
    ]
    figures = compete(contenders, rounds=rounds)
    report.add_figures(figures, within=f"{size}: ")
    report.add_table(
        f"{size:,} skills, median of {rounds} (minimum), CPU ms",
        ("what", "CPU", f"x {_DEEPAGENTS}", f"x {_HEADS}", f"x {_WALK}", "peak MB"),
        (_row(name, figure, figures) for name, figure in figures.items()),
    )
    report.targets += [
        Target(what=f"{ours}, against {theirs}", value=figures[ours].cpu / figures[theirs].cpu, limit=limit)
        for ours, theirs, limit in _LIMITS
    ]
    peak = max(figures[name].peak for name in (_COLD, _WRITING, _WARM))
    report.targets.append(Target(what=f"peak memory at {size:,}", value=peak, limit=_MOST_MEGABYTES, unit="MB"))


def _metier(skills: Path, size: int, *, suffix: str = "") -> list[Contender]:
    written, kept = skills.with_suffix(".written"), skills.with_suffix(".kept")
    writing = Probe(kind="metier", skills=skills, size=size, cache=written)
    return [
        Contender(name=_COLD + suffix, measure=Probe(kind="metier", skills=skills, size=size)),
        Contender(name=_WRITING + suffix, measure=writing, prepare=writing.forget),
        # The first round, which does not count, fills its cache.
        Contender(name=_WARM + suffix, measure=Probe(kind="metier", skills=skills, size=size, cache=kept)),
    ]


def _row(name: str, figure: Figure, figures: Mapping[str, Figure]) -> tuple[str, ...]:
    ratios = (f"{figure.cpu / figures[other].cpu:.3f}" for other in (_DEEPAGENTS, _HEADS, _WALK))
    return (name, f"{figure.cpu:.1f} ({figure.cpu_min:.1f})", *ratios, f"{figure.peak:.0f}")


def _grow(report: Report, folder: Path, sizes: Sequence[int], rounds: int) -> None:
    contenders: list[Contender] = []
    for size in sizes:
        skills = make_skills(folder / f"skills-{size}", size)
        contenders += _metier(skills, size, suffix=f", {size}")
        contenders.append(Contender(name=f"{_WALK}, {size}", measure=Probe(kind="walk", skills=skills, size=size)))
    figures = compete(contenders, rounds=rounds)
    report.add_figures(figures, within="growth: ")
    kinds = (_COLD, _WRITING, _WARM, _WALK)
    each = {(kind, size): figures[f"{kind}, {size}"].cpu * 1000 / size for kind in kinds for size in sizes}
    report.add_table(
        f"CPU µs for each skill, median of {rounds} (and peak MB)",
        ("what", *(f"{size:,} skills" for size in sizes)),
        ((kind, *(f"{each[kind, size]:.1f} ({figures[f'{kind}, {size}'].peak:.0f})" for size in sizes)) for kind in kinds),
    )
    few, many = sizes[-2:]
    report.targets += [
        Target(
            what=f"{kind}: a skill of {many:,} against one of {few:,}",
            value=each[kind, many] / each[kind, few],
            limit=_STRAIGHT,
        )
        for kind in (_COLD, _WRITING, _WARM)
    ]


if __name__ == "__main__":
    sys.exit(main())
