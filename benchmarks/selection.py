"""Skill selection against SQLite's FTS5 in the same run, on real skills and real requests.

Everything learnt from requests is measured under cross-validation: a publisher's requests are ranked by the networks of
the fold that never saw that publisher (training/folds.bin). Times, memory and unrelated requests use the shipped
networks; times are CPU times, which other load on the machine distorts less than wall time. Needs the data that
training/README.md describes: --data FOLDER, or METIER_DATA.

    uv run python benchmarks/selection.py [--quick] [--json] [--plot docs/abstention.svg]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import mmap
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.abstention import crossed, plot
from benchmarks.measure import Report, Target
from metier.disclosure import Budget, render_catalog
from metier.selection import Selector, SelectorOptions
from metier.selection.arrays import Array
from metier.selection.confidence import confidence, fit, rank_features
from metier.selection.container import unpack
from metier.selection.embeddings import SkillEmbeddings
from metier.selection.minilm import MiniLM
from metier.selection.ranker import GROUPS, order_scores, uncovered_share
from metier.selection.signals import SIGNALS
from metier.selection.trained_data import NETWORKS, TRAINED_FORMAT, Network, TrainedData, load_trained_data, read_network
from training.examples import FOLDS, Example, Libraries, examples, folds_by_source, judgements, make_example
from training.labels import Labelled, Plain, data_folder, gap_of, measure, read_corpus, read_negatives, read_queries
from training.written import read_near_misses, read_written

ROOT = Path(__file__).resolve().parents[1]
LEARNT = ROOT / "training" / "folds.bin"
UNRELATED = ROOT / "tests" / "data" / "selection"
ACTIVATE, MEANING = SelectorOptions().activate, SelectorOptions().similarity
UNRELATED_FILES = ("unrelated.jsonl", "unrelated_fresh.jsonl")
_WRITTEN = 5
"""Each of so many of the requests that we wrote is measured."""
_ODDS = math.log(ACTIVATE / (1 - ACTIVATE))
KEYS = ("NDCG@10", "R@1", "R@5", "R@10")
SPEED = ("with bodies", "p50 ms", "p95 ms", "build s", "open ms", "index MB", "memory MB")
Figures = dict[str, float]


@dataclass(frozen=True)
class Speed:
    p50: float
    p95: float
    build: float
    load: float = 0.0
    saved: float = 0.0
    memory: float = 0.0

    def row(self, name: str) -> tuple[str, ...]:
        rest = (f"{self.load:.0f}", f"{self.saved:.0f}", f"{self.memory:.0f}") if self.load else ("", "", "")
        return (name, f"{self.p50:.2f}", f"{self.p95:.2f}", f"{self.build:.1f}", *rest)


class Folds:
    """The networks that never saw a source, and their rankings of its requests."""

    def __init__(self, asked: Sequence[Labelled]) -> None:
        arrays = unpack(LEARNT.read_bytes(), version=TRAINED_FORMAT)
        self.of = folds_by_source(asked)
        self.trained = [
            replace(
                load_trained_data(),
                networks={name: read_network(arrays, f"{fold}.{name}") for name in NETWORKS},
                size_bonus=float(arrays["ease"][0]),
            )
            for fold in range(FOLDS)
        ]

    def without(self, source: str) -> TrainedData:
        # A source without a fold is in no training data.
        return self.trained[self.of.get(source, 0)]

    def asked(self, libraries: Libraries, asked: Sequence[Labelled], setting: str) -> list[Example]:
        limit = SelectorOptions().candidates
        return [found for one in asked for found in examples(libraries, [one], self.without(one.source), (setting,), limit)]

    def order(self, one: Example) -> Network:
        return self.without(one.request.source).order(one.size)

    def scores(self, one: Example, values: Array | None = None) -> Array:
        return order_scores(self.order(one), one.values if values is None else values, one.strangeness)

    def fit(self, one: Example) -> Array:
        """Log-odds that each candidate fits."""
        trained = self.without(one.request.source)
        columns = rank_features(one.values, self.scores(one))
        return fit(columns, trained.networks["fit"], one.size, trained.size_bonus)

    def said(self, one: Example) -> list[tuple[float, float]]:
        """The confidence of each of the first three, and whether it was right."""
        raw = self.scores(one)
        sure = confidence(rank_features(one.values, raw), self.without(one.request.source).networks["sure"])
        return [(1 / (1 + math.exp(-sure[place])), right) for place, right in judgements(one, raw)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the training data; see training/README.md")
    parser.add_argument("--quick", action="store_true", help="every tenth request, no synthetic growth")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--growth", type=int, default=100_000, help="skills in the synthetic library; 0 leaves it out")
    parser.add_argument("--semantic", type=Path, metavar="FILE", help="the extra too; FILE keeps the skills' vectors")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the abstention curve here")
    options = parser.parse_args()
    options.data = data_folder(options.data)
    every = 10 if options.quick else 1
    skills, queries = read_corpus(options.data), read_queries(options.data)
    negatives = read_negatives(options.data)
    folds = Folds([*queries, *negatives])
    queries, negatives = queries[::every], negatives[::every]
    report = Report(f"Choosing among {len(skills):,} skills, {len(queries)} requests", as_json=options.json)
    selector, base = speed(report, skills, queries)
    strange(report, selector)
    del selector
    libraries = Libraries(skills, load_trained_data())
    lists = {setting: folds.asked(libraries, queries, setting) for setting in ("all", "own", "all-front")}
    quality(report, skills, queries, folds, lists, base)
    if options.semantic:
        semantic(report, skills, folds, lists, options.semantic)
    for setting, name in (("all", "whole library"), ("own", "own library of ten or more")):
        styles(report, folds, lists[setting], name)
    written(report, skills, folds, libraries, every)
    ablation(report, folds, lists["all"])
    missed = {setting: folds.asked(libraries, negatives, setting) for setting in ("all", "own")}
    curves = activation(report, folds, lists, missed)
    decisions(report, folds, lists, missed)
    sizes(report, folds, libraries, queries, negatives)
    for setting, name in (("all", "whole library"), ("own", "own publisher's library")):
        unrelated = folds.asked(libraries, unrelated_requests(queries), setting)
        reliability(report, folds, [*lists[setting], *missed[setting], *unrelated], name)
    on_page(report, skills, queries, folds)
    if options.plot:
        options.plot.write_text(plot(curves, ACTIVATE), encoding="utf-8")
    if options.growth and not options.quick:
        growth(report, grown(skills, options.growth), queries[::5])
    return report.finish()


def full_text(skills: Sequence[Plain], columns: Sequence[str]) -> sqlite3.Connection:
    """The baseline: FTS5 with Porter stems, name 4, description 2, body 1."""
    database = sqlite3.connect(":memory:")
    database.execute(f"create virtual table skill using fts5(id unindexed, {','.join(columns)}, tokenize='porter unicode61')")
    rows = (
        (skill.id, *(getattr(skill, c).replace("-", " ") if c == "name" else getattr(skill, c) for c in columns))
        for skill in skills
    )
    database.executemany(f"insert into skill values (?{',?' * len(columns)})", rows)
    return database


def by_full_text(database: sqlite3.Connection, weights: str, query: str, limit: int = 10) -> list[str]:
    said = list(dict.fromkeys(re.findall(r"\w+", query.lower())))[:200]
    ask = f"select id from skill where skill match ? order by bm25(skill, 0, {weights}) limit {limit}"
    return [row[0] for row in database.execute(ask, (" OR ".join(f'"{word}"' for word in said),))]


def speed(report: Report, skills: Sequence[Plain], queries: Sequence[Labelled]) -> tuple[Selector, Figures]:
    """Runs both in turn, request by request: other load slows both, and each finds the caches full of the other's data.

    Also returns the quality of FTS5's results.
    """
    database, built = timed(partial(full_text, skills, ("name", "description", "body")))
    selector, ours = opened(skills, queries[:20])
    theirs, mine, worth = [], [], []
    for query in queries:
        ranked, taken = timed(partial(by_full_text, database, "4,2,1", query.query))
        theirs.append(taken)
        worth.append(measure(ranked, query.skills))
        mine.append(timed(partial(selector.select, query.query, limit=10))[1])
    base = Speed(*percentiles(theirs), built)
    found = replace(ours, p50=percentiles(mine)[0], p95=percentiles(mine)[1])
    ratios = (
        f"{base.p50 / found.p50:.1f} x faster",
        f"{base.p95 / found.p95:.1f} x faster",
        f"{found.build / base.build:.1f} x",
    )
    rows = [base.row("FTS5"), found.row("metier"), ("metier beside FTS5", *ratios, "", "", "")]
    report.targets += [
        Target(what="p50 of a request", value=found.p50, limit=3, unit="ms"),
        Target(what="p95 of a request", value=found.p95, limit=6, unit="ms"),
        Target(what="building the index", value=found.build, limit=10, unit="s"),
        Target(what="opening a saved index", value=found.load, limit=30, unit="ms"),
        Target(what="memory of an opened index", value=found.memory, limit=150, unit="MB"),
        Target(what="a saved index, for each skill", value=1000 * found.saved / len(skills), limit=3, unit="kB"),
    ]
    report.add_table("Speed", SPEED, rows)
    return selector, mean(worth)


def growth(report: Report, skills: Sequence[Plain], queries: Sequence[Labelled]) -> None:
    _, large = opened(skills, queries)
    report.add_table("Speed in a synthetic library", SPEED, [large.row(f"metier, {len(skills):,} skills")])
    report.targets.append(Target(what=f"p50 of a request among {len(skills):,}", value=large.p50, limit=10, unit="ms"))


def opened(skills: Sequence[Plain], queries: Sequence[Labelled]) -> tuple[Selector, Speed]:
    """Builds an index, saves it, opens it again and queries it."""
    selector = Selector(skills)
    _, built = timed(partial(selector.select, "anything"))
    saved = selector.index_bytes()
    del selector
    again, load = timed(partial(Selector.from_buffer, saved, skills))
    times = [timed(partial(again.select, query.query, limit=10))[1] for query in queries]
    used = memory(saved, skills, [query.query for query in queries])
    return again, Speed(*percentiles(times), built, 1000 * load, len(saved) / 1e6, used)


def grown(skills: Sequence[Plain], size: int) -> list[Plain]:
    """Synthetic growth: each round pairs every name and description with another skill's body."""
    found: list[Plain] = []
    for step in itertools.count():
        for place, skill in enumerate(skills[: size - len(found)]):
            other = skills[(place + 977 * step) % len(skills)]
            name = f"{skill.name}-{step}" if step else skill.name
            found.append(Plain(f"{skill.id}~{step}", name, skill.description, other.body))
        if len(found) >= size:
            break
    return found


def strange(report: Report, selector: Selector) -> None:
    """Requests that are unrelated to every skill. The second file was never used for tuning."""
    rows = []
    for name in UNRELATED_FILES:
        lines = (UNRELATED / name).read_text(encoding="utf-8").splitlines()
        fired = statistics.mean(bool(selector.select(json.loads(line)["query"])) for line in lines)
        rows.append((name, str(len(lines)), f"{100 * fired:.1f}"))
        report.targets.append(
            Target(what=f"unrelated requests that activate anything, {name}", value=100 * fired, limit=5, unit="%")
        )
    report.add_table("Unrelated requests", ("file", "requests", "activate anything, %"), rows)


def quality(
    report: Report,
    skills: Sequence[Plain],
    queries: Sequence[Labelled],
    folds: Folds,
    lists: dict[str, list[Example]],
    base: Figures,
) -> None:
    front = full_text(skills, ("name", "description"))
    base_front = mean([measure(by_full_text(front, "4,2", one.query), one.skills) for one in queries])
    rows = []
    for name, theirs, setting, least in (
        ("names and descriptions", base_front, "all-front", (54, 61)),
        ("with bodies", base, "all", (62, 69)),
    ):
        found = ordered(folds, lists[setting])
        rows += [shown(f"FTS5, {name}", theirs), shown(f"metier, {name}", found)]
        for key, limit in zip(("NDCG@10", "R@5"), least, strict=True):
            report.targets.append(Target(what=f"{key}, {name}", value=found[key], limit=limit, unit="", at_least=True))
    own = ordered(folds, lists["own"])
    rows.append(shown(f"metier, the publisher's own library of ten or more ({len(lists['own'])})", own))
    everyone = folds.asked(Libraries(skills, load_trained_data(), smallest=1), queries, "own")
    rows.append(shown(f"metier, the publisher's own library of any size ({len(everyone)})", ordered(folds, everyone)))
    report.targets.append(
        Target(what="NDCG@10, own library of ten or more", value=own["NDCG@10"], limit=88, unit="", at_least=True)
    )
    report.add_table("Quality, grouped by source", ("ranker", *KEYS), rows)


def semantic(report: Report, skills: Sequence[Plain], folds: Folds, lists: dict[str, list[Example]], kept: Path) -> None:
    """Ranks with the sentence model. Its embeddings are cached in a file, because thousands of skills take minutes."""
    encoder = MiniLM()
    embeddings = SkillEmbeddings.from_buffer(kept.read_bytes(), encoder) if kept.exists() else SkillEmbeddings(encoder)
    new, taken = timed(partial(embeddings.learn, skills))
    kept.write_bytes(embeddings.to_bytes())
    by_id = {skill.id: skill for skill in skills}
    rows = []
    for setting, name in (("all", "whole library"), ("own", "own library of ten or more")):
        found = defaultdict(list)
        for one in lists[setting]:
            raw = folds.scores(one)
            near = embeddings.similarity(one.request.query, [by_id[name] for name in one.ids])
            for weight in (0.0, MEANING / 2, MEANING, 1.5 * MEANING):
                scores = raw if near is None else raw + weight * uncovered_share(one.values) * near
                found[weight].append(measure(best(one, scores), one.request.skills))
        rows += [shown(f"{name}, weight {weight:g}", mean(figures)) for weight, figures in found.items()]
        for key in ("NDCG@10", "R@5"):
            gain = mean(found[MEANING])[key] - mean(found[0.0])[key]
            what = f"{key} gained by the semantic extra, {name}"
            report.targets.append(Target(what=what, value=gain, limit=2, unit="", at_least=True))
    report.add_table(f"With the semantic extra; it ships with weight {MEANING:g}", ("library", *KEYS), rows)
    selector = Selector(skills, embeddings=embeddings)
    selector.select("anything")
    p50, p95 = percentiles([timed(partial(selector.select, one.request.query, limit=10))[1] for one in lists["all"][::10]])
    each = f"{1000 * taken / new:.0f}" if new else ""
    speeds = ("p50 ms", "p95 ms", "learning a skill, ms", "kept MB")
    row = (f"{p50:.1f}", f"{p95:.1f}", each, f"{kept.stat().st_size / 1e6:.1f}")
    report.add_table("Speed with the semantic extra", speeds, [row])


def styles(report: Report, folds: Folds, lists: Sequence[Example], name: str) -> None:
    """NDCG@10 and recall by style of the request, beside BM25F on the same text, with intervals by publisher."""
    plain = SIGNALS.index("plain")
    rows = []
    for kind in ("", *sorted({one.request.kind for one in lists})):
        chosen = [one for one in lists if kind in ("", one.request.kind)]
        theirs = mean([measure(best(one, one.values[:, plain]), one.request.skills) for one in chosen])
        found = [(one.request.source, measure(best(one, folds.scores(one)), one.request.skills)) for one in chosen]
        ours = mean([figures for _, figures in found])
        low, high = interval([(source, figures["NDCG@10"]) for source, figures in found])
        figures = (f"{theirs['NDCG@10']:.1f}", f"{theirs['R@5']:.1f}", f"{ours['NDCG@10']:.1f}", f"{ours['R@5']:.1f}")
        rows.append((f"{kind or 'all'} ({len(chosen)})", *figures, f"{low:.1f} to {high:.1f}"))
    head = ("style", "BM25F NDCG@10", "BM25F R@5", "metier NDCG@10", "metier R@5", "95 % of NDCG@10, by publisher")
    report.add_table(f"By style, {name}", head, rows)


def written(report: Report, skills: Sequence[Plain], folds: Folds, libraries: Libraries, every: int) -> None:
    """Requests and near misses that we wrote, which no network here has seen."""
    requests = read_written(skills)[:: _WRITTEN * every]
    rows = []
    for setting, name in (("all", "whole library"), ("own", "own library of ten or more")):
        styles(report, folds, folds.asked(libraries, requests, setting), f"{name}, requests that we wrote")
        near = folds.asked(libraries, read_near_misses(skills)[:: _WRITTEN * every], setting)
        fits = [float(folds.fit(one)[one.right].max(initial=-9)) for one in near]
        rows.append((name, str(len(near)), f"{100 * sum(value >= _ODDS for value in fits) / max(1, len(fits)):.1f}"))
    report.add_table("Near misses that we wrote", ("library", "near misses", "the skill fits, %"), rows)


def interval(figures: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """The bootstrap interval of the mean in per cent, where publishers and not requests are drawn."""
    by_source: dict[str, list[float]] = defaultdict(list)
    for source, value in figures:
        by_source[source].append(value)
    groups = [np.array(values) for values in by_source.values()]
    rng = np.random.default_rng(0)
    draws = [np.concatenate([groups[n] for n in rng.integers(len(groups), size=len(groups))]).mean() for _ in range(1_000)]
    low, high = np.percentile(draws, (2.5, 97.5))
    return 100 * float(low), 100 * float(high)


def decisions(report: Report, folds: Folds, asked: dict[str, list[Example]], missed: dict[str, list[Example]]) -> None:
    """Activation as it is decided: only the best skill, if it fits."""
    rows = []
    for setting, name in (("all", "whole library"), ("own", "own publisher's library")):
        right, any_one = zip(*(_decided(folds, one) for one in asked[setting]), strict=True)
        near, _ = zip(*(_decided(folds, one) for one in missed[setting]), strict=True)
        shares = [100 * statistics.mean(column) for column in (right, near, any_one)]
        rows.append((name, *(f"{share:.1f}" for share in shares)))
        report.targets.append(
            Target(what=f"near misses activated as the best skill, {name}", value=shares[1], limit=10, unit="%")
        )
    report.add_table("Activated, one skill a request", ("library", "right, %", "near misses, %", "any skill, %"), rows)


def _decided(folds: Folds, one: Example) -> tuple[bool, bool]:
    """Returns whether the labelled skill is activated, and whether any is."""
    if not len(one.ids):
        return False, False
    first = int(folds.scores(one).argmax())
    is_fit = bool(folds.fit(one)[first] >= math.log(ACTIVATE / (1 - ACTIVATE)))
    return is_fit and bool(one.right[first]), is_fit


def ablation(report: Report, folds: Folds, lists: Sequence[Example]) -> None:
    rows = [shown("nothing", ordered(folds, lists))]
    rows += [shown(group, ordered(folds, lists, group)) for group in GROUPS]
    report.add_table("Ablation (signals set to their mean)", ("signals", *KEYS), rows)


def activation(
    report: Report, folds: Folds, asked: dict[str, list[Example]], missed: dict[str, list[Example]]
) -> dict[str, list[Figures]]:
    """Right skills kept and near misses let through, in per cent, over thresholds of fit."""
    curves: dict[str, list[Figures]] = {}
    for setting, name in (("all", "whole library"), ("own", "own publisher's library")):
        kept, false = named(folds, asked[setting]), named(folds, missed[setting])
        curves[name] = [
            {"threshold": threshold, "kept": share(kept, threshold), "near misses": share(false, threshold)}
            for threshold in sorted({0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, ACTIVATE})
        ]
        now = next(figures for figures in curves[name] if figures["threshold"] == ACTIVATE)
        report.targets += [
            Target(what=f"right skills activated, {name}", value=now["kept"], limit=75, unit="%", at_least=True),
            Target(what=f"near misses activated, {name}", value=now["near misses"], limit=25, unit="%"),
        ]
        rows = [(f"{f['threshold']:g}", f"{f['kept']:.1f}", f"{f['near misses']:.1f}") for f in curves[name]]
        report.add_table(f"Activation by fit, {name}", ("threshold", "right kept, %", "near misses, %"), rows)
    return curves


def sizes(
    report: Report, folds: Folds, libraries: Libraries, queries: Sequence[Labelled], negatives: Sequence[Labelled]
) -> None:
    """The same threshold in random parts of the library, in all of it, and in one twice as large (see `crossed`)."""
    everyone = list(libraries.skills)
    more = [*everyone, *crossed(everyone, load_trained_data())]
    twice = Libraries(more, load_trained_data()).some(queries[0], len(more))

    def asked(of: Sequence[Labelled], size: int) -> Iterator[Example]:
        for one in of:
            own, library = libraries.some(one, size) if size <= len(everyone) else twice
            yield make_example(own, library, one, "some", folds.without(one.source), SelectorOptions().candidates)

    rows = []
    for size in (30, 300, 1_500, 5_000, len(everyone), len(more)):
        kept, false = (share(named(folds, asked(of, size)), ACTIVATE) for of in (queries, negatives))
        loud = share(np.array([folds.fit(one).max(initial=-99) for one in asked(unrelated_requests(queries), size)]), ACTIVATE)
        rows.append((f"{size:,}", f"{kept:.1f}", f"{false:.1f}", f"{loud:.1f}"))
    head = ("skills", "right kept, %", "near misses, %", "unrelated, %")
    report.add_table("Activation by size: random parts, all, and all with as many crossed ones", head, rows)


def unrelated_requests(queries: Sequence[Labelled]) -> list[Labelled]:
    """Pairs each unrelated request with the library of one of the queries, and the networks that never saw it."""
    lines = [line for name in UNRELATED_FILES for line in (UNRELATED / name).read_text(encoding="utf-8").splitlines()]
    return [
        Labelled(json.loads(line)["query"], (f"{one.home}#",), one.source, "unrelated")
        for line, one in zip(lines, itertools.cycle(queries), strict=False)
    ]


def named(folds: Folds, lists: Iterable[Example]) -> Array:
    """Returns the log-odds that the labelled skills fit; a skill that was not found does not."""
    found = [(folds.fit(one)[one.right].tolist(), len(one.request.skills)) for one in lists]
    return np.array([odds for there, size in found for odds in there + [-99.0] * (size - len(there))])


def share(odds: Array, threshold: float) -> float:
    return 100 * float(np.mean(odds >= math.log(threshold / (1 - threshold))))


def reliability(report: Report, folds: Folds, lists: Sequence[Example], name: str) -> None:
    """Compares confidence with correctness among the three best skills of each request (see `judgements`)."""
    said = [pair for one in lists for pair in folds.said(one)]
    rows = []
    for low, high in itertools.pairwise((0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)):
        inside = [pair for pair in said if low <= pair[0] < high]
        if inside:
            confidence, correct = (statistics.mean(column) for column in zip(*inside, strict=True))
            rows.append((f"{low:.2f} to {high:.2f}", f"{100 * confidence:.0f}", f"{100 * correct:.0f}", str(len(inside))))
    rows.append(("mean gap, points", "", f"{gap_of(said):.1f}", str(len(said))))
    report.add_table(f"Confidence, {name}", ("confidence", "said %", "right %", "matches"), rows)
    report.targets.append(Target(what=f"mean gap of the confidence, {name}", value=gap_of(said), limit=3, unit=" points"))


@dataclass(frozen=True)
class Shown:
    id: str
    name: str
    description: str
    location: str = "/skills/SKILL.md"


def on_page(report: Report, skills: Sequence[Plain], queries: Sequence[Labelled], folds: Folds) -> None:
    """Returns how often one of the right skills is on a page of a given number of tokens."""
    # A twin of another publisher on the page is not the right skill, so each gets its own name.
    listed = {skill.id: Shown(skill.id, f"{skill.name}-{n}", skill.description) for n, skill in enumerate(skills)}
    saved = Selector(skills).index_bytes()
    selectors = [Selector.from_buffer(saved, skills, trained=trained) for trained in folds.trained]
    database = full_text(skills, ("name", "description", "body"))
    budgets = (500, 1_000, 2_000, 4_000)
    hits = {(who, budget): 0 for who in ("metier", "FTS5") for budget in budgets}
    queries = queries[::4]
    for query in queries:
        ours = [match.id for match in selectors[folds.of[query.source]].select(query.query, limit=500)]
        for who, ranked in (("metier", ours), ("FTS5", by_full_text(database, "4,2,1", query.query, 500))):
            page = [listed[name] for name in ranked] + list(listed.values())[:20]
            right = {listed[name].name for name in query.skills if name in listed}
            for budget in budgets:
                hits[who, budget] += bool(right & set(render_catalog(page, Budget(tokens=budget)).on_page))
    share = {key: 100 * count / len(queries) for key, count in hits.items()}
    rows = [(f"{budget:,}", f"{share['metier', budget]:.1f}", f"{share['FTS5', budget]:.1f}") for budget in budgets]
    report.add_table("The right skill is on the page, %", ("tokens", "metier", "FTS5"), rows)
    report.targets.append(
        Target(what="right skill on a page of 2,000 tokens", value=share["metier", 2_000], limit=75, unit="%", at_least=True)
    )


def ordered(folds: Folds, lists: Sequence[Example], without: str = "") -> Figures:
    """`without` names a group of signals that is set to its mean."""
    columns = [SIGNALS.index(name) for name in GROUPS.get(without, ())]
    rows = []
    for one in lists:
        network = folds.order(one)
        values = one.values.copy()
        values[:, columns] = network.middle[columns]
        rows.append(measure(best(one, folds.scores(one, values)), one.request.skills))
    return mean(rows)


def best(one: Example, scores: Array) -> list[str]:
    return [one.ids[place] for place in np.argsort(-scores, kind="stable")[:10]]


def mean(rows: Sequence[Figures]) -> Figures:
    return {key: 100 * statistics.mean(row[key] for row in rows) for key in KEYS}


def shown(name: str, figures: Figures) -> tuple[str, ...]:
    return (name, *(f"{figures[key]:.1f}" for key in KEYS))


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th, in milliseconds."""
    inorder = sorted(1000 * value for value in seconds)
    return inorder[len(inorder) // 2], inorder[int(len(inorder) * 0.95)]


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    result = action()
    return result, time.process_time() - begin


def memory(saved: bytes, skills: Sequence[Plain], queries: Sequence[str]) -> float:
    """Returns the MB that a separate process needs to open an index and answer, without the skills and with mapped pages."""
    with tempfile.NamedTemporaryFile() as file, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        file.write(saved)
        file.flush()
        return child.submit(_used, file.name, [replace(skill, body="") for skill in skills], queries).result()


def _used(index: str, skills: Sequence[Plain], queries: Sequence[str]) -> float:
    before = _resident()
    with open(index, "rb") as file:
        selector = Selector.from_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), skills)
    for query in queries:
        selector.select(query, limit=10)
    return _resident() - before


def _resident() -> float:
    """Memory of this process in MB."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 / 1e6 if status.exists() else 0.0


if __name__ == "__main__":
    sys.exit(main())
