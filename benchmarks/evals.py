"""The cost of evals: conflicts among a thousand skills, a trigger eval offline, and a skill's tests in parallel.

    python benchmarks/evals.py [--quick] [--json]

Each figure is compared with a floor or an alternative: conflicts with ranking every request of every skill, a trigger eval with
the selections alone, parallel tests with the same tests one after another.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measure import Contender, Figure, Report, Sample, Target, compete, options
from metier.catalog import Entry
from metier.evals.conflicts import find_conflicts
from metier.evals.files import TriggerQuery, read_queries
from metier.evals.ranker_judge import RankerTriggerJudge
from metier.evals.skill_tests import find_skill_tests, run_skill_tests
from metier.evals.triggers import run_triggers
from metier.runtime import Runner
from metier.selection import Selector
from metier.selection.tokenization import split_sentences
from metier.sources import BUNDLED, DiskFiles, discover
from metier.sources.selection_index import IndexedSkill

_STARTS = (
    "agro",
    "bio",
    "cargo",
    "claim",
    "court",
    "dairy",
    "fleet",
    "grid",
    "lab",
    "rail",
    "crop",
    "dock",
    "farm",
    "mine",
    "wind",
)
_ENDS = (
    "base",
    "chain",
    "desk",
    "flow",
    "hub",
    "line",
    "net",
    "port",
    "stack",
    "yard",
    "craft",
    "deck",
    "gate",
    "loop",
    "mill",
)
_WORDS = tuple(
    f"{start}{middle}{end}" for middle in ("", "o", "er", "in", "al", "et", "us", "a") for start in _STARTS for end in _ENDS
)
_COMMON = tuple(1 / rank for rank in range(10, 10 + len(_WORDS)))
"""Few words are in many descriptions and most in few, as in any language."""


@dataclass(frozen=True)
class Written:
    name: str
    description: str

    @property
    def id(self) -> str:
        return self.name


def main() -> int:
    chosen = options(__doc__, rounds=5, quick=2)
    report = Report("Evals", as_json=chosen.json)
    size = 300 if chosen.quick else 1000
    skills = _library(size)
    selector = Selector(skills)
    found = compete(
        [
            Contender(name="conflicts", measure=_timed(lambda: find_conflicts(skills, selector))),
            Contender(name="every request asked", measure=_timed(lambda: _asked_of_all(skills, selector))),
        ],
        rounds=chosen.rounds,
    )
    _show(report, f"Conflicts among {size:,} skills", found, within="conflicts: ")
    ratio = found["conflicts"].cpu / found["every request asked"].cpu
    report.targets.append(Target(what="conflicts beside asking the ranker every request", value=ratio, limit=0.6))

    entries = discover(BUNDLED).entries
    bundled = Selector([IndexedSkill(entry) for entry in entries])
    queries = {entry.name: read_queries(DiskFiles(entry.folder)) for entry in entries}
    found = compete(
        [
            Contender(name="judged", measure=_timed(lambda: _judged(entries, queries, bundled))),
            Contender(
                name="selected", measure=_timed(lambda: [bundled.select(q.text) for each in queries.values() for q in each])
            ),
        ],
        rounds=chosen.rounds,
    )
    count = sum(map(len, queries.values()))
    _show(report, f"{count} requests of the bundled skills", found, within="triggers: ")
    report.targets.append(
        Target(what="a judged request beside a bare selection", value=found["judged"].cpu / found["selected"].cpu, limit=3)
    )

    suites = [suite for entry in entries for suite in find_skill_tests(entry.name, entry.folder)]
    found = compete(
        [
            Contender(name="at once", measure=_timed(lambda: asyncio.run(run_skill_tests(suites, Runner())))),
            Contender(name="one by one", measure=_timed(lambda: asyncio.run(run_skill_tests(suites, Runner(), parallel=1)))),
        ],
        rounds=chosen.rounds,
    )
    _show(report, f"{len(suites)} test files of the bundled skills", found, within="tests: ")
    report.targets.append(
        Target(
            what="tests at once beside one by one, wall time", value=found["at once"].wall / found["one by one"].wall, limit=0.9
        )
    )
    return report.finish()


def _library(size: int) -> list[Written]:
    """Skills that differ as published ones do: most have little in common, and some share words."""
    chance = random.Random(7)
    made: list[Written] = []
    for number in range(size):
        said = list(dict.fromkeys(chance.choices(_WORDS, _COMMON, k=24)))
        if made and chance.random() < 0.25:
            said[:10] = chance.choice(made).description.replace(".", "").split()[3:13]
        name, half = f"{said[0]}-{number}", len(said) // 2
        about = f"Handles the {' '.join(said[:half])}. Use when the user asks about {' '.join(said[half:])}."
        made.append(Written(name, about))
    return made


def _asked_of_all(skills: list[Written], selector: Selector) -> None:
    """The plain way to the same result: ranks every request of every skill, and returns the other skills it would load."""
    for skill in skills:
        for request in split_sentences(skill.description)[:2]:
            selector.select(request)


def _judged(entries: Sequence[Entry], queries: Mapping[str, Sequence[TriggerQuery]], selector: Selector) -> None:
    async def all_of_them() -> None:
        for entry in entries:
            await run_triggers(entry.name, queries[entry.name], RankerTriggerJudge(selector, entry))

    asyncio.run(all_of_them())


def _timed(work: Callable[[], object]) -> Callable[[], Sample]:
    def measure() -> Sample:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        return Sample(time.perf_counter() - wall, time.process_time() - cpu)

    return measure


def _show(report: Report, title: str, found: dict[str, Figure], *, within: str) -> None:
    rows = [(name, f"{figure.cpu:,.0f} ms", f"{figure.wall:,.0f} ms") for name, figure in found.items()]
    report.add_table(title, ("", "processor", "wall"), rows)
    report.add_figures(found, within=within)


if __name__ == "__main__":
    sys.exit(main())
