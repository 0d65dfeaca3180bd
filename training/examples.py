"""Training examples: requests with their candidates and signals, as the ranker computes them.

Each query is run against several libraries (all skills, some of them, the publisher's own, a handful; with bodies or
without), because the same weights must serve a home folder of ten skills and a registry of ten thousand.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metier.selection.index_document import read_skill
from metier.selection.query import read_query
from metier.selection.ranker import collect_evidence
from metier.selection.salience import term_features
from metier.selection.segment import BODY, FIELD_B, FIELD_LENGTH, NAME, PURPOSE, build_segment
from metier.selection.signals import SIGNALS, find_candidates, spread_postings, term_weights
from metier.selection.skill_index import SkillIndex
from metier.selection.trained_data import TrainedData
from training.labels import Labelled, Plain

__all__ = [
    "CANDIDATES",
    "FOLDS",
    "Example",
    "Libraries",
    "Wording",
    "examples",
    "folds_by_source",
    "judgements",
    "make_example",
    "wordings",
]

CANDIDATES = 100
FOLDS = 5
SMALLEST = 10
"""Fewest skills of a library that is worth ranking."""
TINY = (1, 2, 3, 5, 10)
"""Sizes of the libraries that are a handful of random skills and the right one."""
SOME = (30, 300, 1_500, 5_000)
"""Sizes of the libraries that are a random part of all skills."""
ALIKE = 20
"""Skills that share words with a request."""
TERMS = 64
"""Weightiest terms of a request that the salience network learns from."""


@dataclass(frozen=True, slots=True)
class Example:
    """One request against one library."""

    request: Labelled
    setting: str
    ids: tuple[str, ...]
    values: np.ndarray
    size: int
    """Skills in the library."""
    strangeness: float = 0.0
    """Of the request; see `strangeness_of`."""

    @property
    def right(self) -> np.ndarray:
        return np.array([name in self.request.skills for name in self.ids], dtype=bool)


@dataclass(frozen=True, slots=True)
class Wording:
    """The terms of one request, and what each adds to each candidate."""

    request: Labelled
    term_features: np.ndarray
    weights: np.ndarray
    gains: np.ndarray
    """By term, candidate and kind: all fields, front, body."""
    right: np.ndarray


def folds_by_source(queries: Iterable[Labelled]) -> dict[str, int]:
    """Assigns each source to a fold: largest first, to the emptiest fold. So no publisher is on both sides."""
    load = [0] * FOLDS
    fold: dict[str, int] = {}
    for source, count in sorted(Counter(query.source for query in queries).items(), key=lambda one: (-one[1], one[0])):
        fold[source] = load.index(min(load))
        load[fold[source]] += count
    return fold


class Libraries:
    """Libraries, built once: "all", "some" of them, a publisher's "own", "tiny"; with "-front" without bodies."""

    def __init__(self, skills: Sequence[Plain], trained: TrainedData, smallest: int = SMALLEST) -> None:
        self.skills = skills
        self._trained = trained
        self._smallest = smallest
        self._by_publisher: dict[str, list[Plain]] = defaultdict(list)
        self._by_id = {skill.id: skill for skill in skills}
        for skill in skills:
            self._by_publisher[skill.publisher].append(skill)
        self._made: dict[tuple[str, str], tuple[list[Plain], SkillIndex]] = {}

    def library_for(self, setting: str, one: Labelled) -> tuple[list[Plain], SkillIndex] | None:
        kind, _, front = setting.partition("-")
        if kind == "some":
            return self.some(one, SOME[zlib.crc32(one.query.encode()) % len(SOME)])
        home = {"all": "", "own": one.home, "tiny": one.query}[kind]
        if kind == "own" and len(self._by_publisher[home]) < self._smallest:
            return None
        if (setting, home) not in self._made:
            own = list(self.skills) if kind == "all" else self._by_publisher[home] if kind == "own" else self._few(one)
            known = [replace(skill, body="") for skill in own] if front else own
            segment = build_segment([read_skill(skill) for skill in known], self._trained)
            library = SkillIndex(segments=(segment,), alive=np.ones(len(own), dtype=bool), live_count=len(own))
            self._made[setting, home] = own, library
        return self._made[setting, home]

    def some(self, one: Labelled, size: int) -> tuple[list[Plain], SkillIndex]:
        """Returns all skills, of which only the named ones and random others are alive; the same each time."""
        made = self.library_for("all", one)
        assert made is not None
        own, library = made
        rng = np.random.default_rng(zlib.crc32(f"{size} {one.query}".encode()))
        alive = np.zeros(len(own), dtype=bool)
        alive[rng.choice(len(own), min(size, len(own)), replace=False)] = True
        alive[[row for row, skill in enumerate(own) if skill.id in one.skills]] = True
        return own, replace(library, alive=alive, live_count=int(alive.sum()))

    def _few(self, one: Labelled) -> list[Plain]:
        """Returns the skills that a label names, and random ones; the same each time."""
        rng = np.random.default_rng(zlib.crc32(one.query.encode()))
        named = [self._by_id[name] for name in one.skills if name in self._by_id]
        size = TINY[int(rng.integers(len(TINY)))]
        pool = self._alike(one) if one.kind == "unrelated" and rng.random() < 0.6 else self.skills
        others = [pool[place] for place in rng.choice(len(pool), min(size, len(pool)), replace=False)]
        return [*named, *(skill for skill in others if skill not in named)][: max(size, len(named))]

    def _alike(self, one: Labelled) -> Sequence[Plain]:
        """Returns skills that share words with an unrelated request."""
        made = self.library_for("all", one)
        assert made is not None
        own, library = made
        query = read_query(one.query)
        postings = library.postings(query)
        rows = find_candidates(postings, term_weights(query, postings, library.live_count, self._trained), len(own), ALIKE)
        return [own[row] for row in rows] or self.skills


def examples(
    libraries: Libraries, asked: Sequence[Labelled], trained: TrainedData, settings: Sequence[str], limit: int = CANDIDATES
) -> list[Example]:
    return [
        make_example(*made, one, setting, trained, limit)
        for setting in settings
        for one in asked
        if (made := libraries.library_for(setting, one))
    ]


def make_example(
    own: Sequence[Plain], library: SkillIndex, one: Labelled, setting: str, trained: TrainedData, limit: int = CANDIDATES
) -> Example:
    evidence = collect_evidence(read_query(one.query), library, trained, limit=limit)
    ids = tuple(own[row].id for row in evidence.rows)
    return Example(one, setting, ids, evidence.values.reshape(-1, len(SIGNALS)), library.live_count, evidence.strangeness)


def judgements(one: Example, raw: np.ndarray) -> list[tuple[int, float]]:
    """Returns the three best candidates, each with 1.0 if it is right.

    The skills of the label are right, although another publisher's skill may do as well. For a near miss only the skill
    that it names has a judgement.
    """
    best = [int(place) for place in np.argsort(-raw, kind="stable")[:3]]
    if one.request.kind == "near-miss":
        return [(place, 0.0) for place in best if one.right[place]]
    right = one.right & (one.request.kind != "unrelated")
    return [(place, float(right[place])) for place in best]


def wordings(libraries: Libraries, asked: Sequence[Labelled], trained: TrainedData) -> list[Wording]:
    """Runs each request against all skills, term by term."""
    found: list[Wording] = []
    for one in asked:
        made = libraries.library_for("all", one)
        assert made is not None
        own, library = made
        query = read_query(one.query)
        postings = library.postings(query)
        weights = term_weights(query, postings, library.live_count, trained)
        rows = find_candidates(postings, weights, len(own), CANDIDATES)
        counts, impacts, _ = spread_postings(query, postings, rows, len(own))
        normal = counts / (1 - FIELD_B + FIELD_B * library.lengths(rows).astype(np.float32) / FIELD_LENGTH).T[:, None]
        front = 2 * normal[NAME] + normal[PURPOSE]
        gains = np.stack([impacts, front / (1 + front), normal[BODY] / (1.5 + normal[BODY])], axis=-1)
        top = np.argsort(-weights, kind="stable")[:TERMS]
        right = np.array([own[row].id in one.skills for row in rows], dtype=bool)
        found.append(Wording(one, term_features(query, weights, trained)[top], weights[top], gains[top], right))
    return found
