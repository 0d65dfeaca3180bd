"""The data that training and benchmarks read: skills, dev queries with their right skills, and near misses.

It is not part of the repository. `data_folder` finds it; README.md describes the files.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "SELECTION_FILES", "Labelled", "Plain", "data_folder", "gap_of", "measure", "read_corpus", "read_negatives", "read_queries",
]  # fmt: skip

SELECTION_FILES = ("corpus.jsonl.gz", "queries.jsonl", "negatives.jsonl")
_DEFAULT = Path(__file__).resolve().parent / "data"


def data_folder(given: Path | None, files: Sequence[str] = SELECTION_FILES) -> Path:
    """Returns the folder with the data: the given one, else $METIER_DATA or its folder `selection`, else training/data.

    Ends the program with one sentence if a file is missing.
    """
    folder = given or Path(os.environ.get("METIER_DATA") or _DEFAULT)
    if not given and (folder / "selection").is_dir():
        folder /= "selection"
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise SystemExit(
            f"{folder} has no {', '.join(missing)}; pass --data FOLDER or set METIER_DATA (see training/README.md)"
        )
    return folder


@dataclass(frozen=True, slots=True)
class Plain:
    """A skill of the corpus."""

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
    """Ids of the right skills; for a near miss, of the wrong ones."""
    source: str
    kind: str

    @property
    def home(self) -> str:
        """The publisher whose library is searched."""
        return self.skills[0].partition("#")[0]


def read_corpus(folder: Path) -> list[Plain]:
    rows = _lines(folder / "corpus.jsonl.gz")
    return [Plain(row["id"], row["name"], row["description"], row["body"]) for row in rows]


def read_queries(folder: Path) -> list[Labelled]:
    rows = _lines(folder / "queries.jsonl")
    return [Labelled(row["query"], tuple(row["gold"]), row["source"], row["kind"]) for row in rows]


def read_negatives(folder: Path) -> list[Labelled]:
    """Returns the near misses that name a skill; a few name none."""
    rows = (row for row in _lines(folder / "negatives.jsonl") if row["not"])
    return [Labelled(row["query"], tuple(row["not"]), row["source"], "near-miss") for row in rows]


def measure(ranked: Sequence[str], right: Sequence[str]) -> dict[str, float]:
    """Returns NDCG@10 and recall at 1, 5 and 10."""
    hits = [doc in right for doc in ranked[:10]]
    gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits))
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(right), 10)))
    return {"NDCG@10": gain / ideal, **{f"R@{k}": sum(hits[:k]) / len(right) for k in (1, 5, 10)}}


def gap_of(pairs: Sequence[tuple[float, float]]) -> float:
    """Returns the calibration error in percentage points, over ten bins of confidence."""
    tenths: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for said, right in pairs:
        tenths[int(10 * said)].append((said, right))
    return 100 * sum(abs(sum(said - right for said, right in tenth)) for tenth in tenths.values()) / max(1, len(pairs))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
