"""What evals cost: conflicts among a thousand skills, a request judged offline, and a skill's tests side by side.

    python benchmarks/evals.py [--quick] [--json]

Each figure stands beside what it is made of: conflicts beside asking the ranker about every skill, a judged request beside
a bare selection, tests at once beside the same tests one after the other.
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
from metier.evals.conflicts import conflicts
from metier.evals.files import Query, read_queries
from metier.evals.ranking import Ranking
from metier.evals.suites import find_suites, run_suites
from metier.evals.triggers import run_triggers
from metier.runtime.running import Runner
from metier.selection import Selector
from metier.selection.text import sentences
from metier.sources import BUNDLED, DiskFiles, discover
from metier.sources.index import IndexedSkill

_THINGS = (
    "invoice",
    "chart",
    "ticket",
    "cluster",
    "table",
    "letter",
    "recipe",
    "contract",
    "dataset",
    "picture",
    "server",
    "form",
)
_DEEDS = ("draws", "checks", "converts", "merges", "reviews", "deploys", "sorts", "translates", "plans", "validates", "renders")
_KINDS = ("quarterly", "legacy", "signed", "nested", "public", "encrypted", "weekly", "draft", "remote", "shared", "broken")


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
    size = 1000
    skills = _library(size)
    selector = Selector(skills)
    found = compete(
        [
            Contender(name="conflicts", measure=_timed(lambda: conflicts(skills, selector))),
            Contender(name="ranker for every skill", measure=_timed(lambda: _asked_of_all(skills, selector))),
        ],
        rounds=chosen.rounds,
    )
    _show(report, f"Conflicts among {size:,} skills", found, within="conflicts: ")
    ratio = found["conflicts"].cpu / found["ranker for every skill"].cpu
    report.targets.append(Target(what="conflicts beside asking the ranker for every skill", value=ratio, limit=0.5))

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

    suites = [suite for entry in entries for suite in find_suites(entry.name, entry.folder)]
    found = compete(
        [
            Contender(name="at once", measure=_timed(lambda: asyncio.run(run_suites(suites, Runner())))),
            Contender(name="one by one", measure=_timed(lambda: asyncio.run(run_suites(suites, Runner(), at_once=1)))),
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
    """Skills that differ as real ones do: some say nearly the same, most do not."""
    chance = random.Random(7)
    made = []
    for number in range(size):
        deed, thing, kind = chance.choice(_DEEDS), chance.choice(_THINGS), chance.choice(_KINDS)
        other = chance.choice(_THINGS)
        when = f"Use when the user has a {kind} {thing} or asks about a {other}."
        made.append(Written(f"{thing}-{deed}-{number}", f"{deed.capitalize()} {kind} {thing}s for team{number % 97}. {when}"))
    return made


def _asked_of_all(skills: list[Written], selector: Selector) -> None:
    for skill in skills:
        selector.select(sentences(skill.description)[0])


def _judged(entries: Sequence[Entry], queries: Mapping[str, Sequence[Query]], selector: Selector) -> None:
    async def all_of_them() -> None:
        for entry in entries:
            await run_triggers(entry.name, queries[entry.name], Ranking(selector, entry))

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
