"""The data that training and benchmarks read: skills, dev queries with their right skills, near misses."""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DEFAULT", "Labelled", "Plain", "gap_of", "measure", "read_corpus", "read_negatives", "read_queries"]

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "selection"


@dataclass(frozen=True, slots=True)
class Plain:
    """The simplest thing that is a skill."""

    id: str
    name: str
    description: str
    body: str = ""

    @property
    def publisher(self) -> str:
        return self.id.partition("#")[0]


@dataclass(frozen=True, slots=True)
class Labelled:
    query: str
    skills: tuple[str, ...]
    """The right ones; for a near miss, the wrong ones."""
    source: str
    kind: str

    @property
    def home(self) -> str:
        """The publisher in whose library it is asked."""
        return self.skills[0].partition("#")[0]


def read_corpus(folder: Path) -> list[Plain]:
    rows = _lines(folder / "corpus.jsonl.gz")
    return [Plain(row["id"], row["name"], row["description"], row["body"]) for row in rows]


def read_queries(folder: Path) -> list[Labelled]:
    rows = _lines(folder / "queries.jsonl")
    return [Labelled(row["query"], tuple(row["gold"]), row["source"], row["kind"]) for row in rows]


def read_negatives(folder: Path) -> list[Labelled]:
    """Those that name a skill; a few name none."""
    rows = (row for row in _lines(folder / "negatives.jsonl") if row["not"])
    return [Labelled(row["query"], tuple(row["not"]), row["source"], "near-miss") for row in rows]


def measure(ranked: Sequence[str], right: Sequence[str]) -> dict[str, float]:
    """As data/selection/baseline.py does."""
    hits = [doc in right for doc in ranked[:10]]
    gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(right), 10)))
    return {"NDCG@10": gain / ideal, **{f"R@{k}": sum(hits[:k]) / len(right) for k in (1, 5, 10)}}


def gap_of(pairs: Sequence[tuple[float, float]]) -> float:
    """Mean distance, in points, between what was said and what was so, over tenths of confidence."""
    tenths: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for said, right in pairs:
        tenths[int(10 * said)].append((said, right))
    return 100 * sum(abs(sum(said - right for said, right in tenth)) for tenth in tenths.values()) / max(1, len(pairs))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
