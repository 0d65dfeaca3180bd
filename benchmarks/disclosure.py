"""How often the right skill is on the page when the catalog may cost only so many tokens.

10,506 real skills, the development queries, names, descriptions and bodies indexed. The ranker decides what is shown in full,
shortened, or by name; a hit is a query with one of its right skills anywhere on the page. Prints the share for several budgets
beside the same page filled by SQLite's FTS5 ranking. Reads ../shared/data/selection.

    uv run python benchmarks/disclosure.py [--quick] [--json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metier.disclosure import Budget, catalog_within
from metier.selection import Selector

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "selection"
BUDGETS = (500, 1_000, 2_000, 4_000)
TARGET = 75.0


@dataclass(frozen=True)
class Shown:
    id: str
    name: str
    description: str
    body: str

    @property
    def location(self) -> str:
        return f"/skills/{self.name}/SKILL.md"


def rows(file: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def full_text(skills: Sequence[Shown]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table skill using fts5(id unindexed, name, description, body, tokenize='porter unicode61')")
    db.executemany(
        "insert into skill values (?, ?, ?, ?)", ((s.id, s.name.replace("-", " "), s.description, s.body) for s in skills)
    )
    return db


def by_full_text(db: sqlite3.Connection, query: str) -> list[str]:
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))[:200]
    match = " OR ".join(f'"{word}"' for word in words)
    found = db.execute("select id from skill where skill match ? order by bm25(skill, 0, 4, 2, 1) limit 300", (match,))
    return [row[0] for row in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every tenth query")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not DATA.exists():
        print(f"needs the selection data, which is not at {DATA}", file=sys.stderr)
        return 2
    skills = {
        row["id"]: Shown(row["id"], row["name"], row["description"], row["body"]) for row in rows(DATA / "corpus.jsonl.gz")
    }
    labels = _labels(skills)
    queries = list(rows(DATA / "queries.jsonl"))[:: 10 if options.quick else 1]
    selector, db = Selector(skills.values()), full_text(list(skills.values()))
    hits = {(who, budget): 0 for who in ("metier", "fts5") for budget in BUDGETS}
    seconds = 0.0
    for query in queries:
        gold = {labels[right] for right in query["gold"]}
        begin = time.perf_counter()
        ranked = {"metier": [skills[match.id] for match in selector.select(query["query"], limit=300)]}
        seconds += time.perf_counter() - begin
        ranked["fts5"] = [skills[found] for found in by_full_text(db, query["query"])]
        for who, budget in hits:
            page = [replace(skill, name=labels[skill.id]) for skill in _all(ranked[who], skills)]
            shown = catalog_within(page, Budget(tokens=budget))
            hits[who, budget] += bool(gold & set(shown.on_page))
    table = [
        {"budget": budget, **{who: round(100 * hits[who, budget] / len(queries), 1) for who in ("metier", "fts5")}}
        for budget in BUDGETS
    ]
    met = next(row["metier"] for row in table if row["budget"] == 2_000) >= TARGET
    if options.json:
        print(json.dumps({"queries": len(queries), "table": table, "select_ms": 1000 * seconds / len(queries), "met": met}))
    else:
        print(f"{len(queries)} queries, {len(skills):,} skills; the right skill is on the page (%)")
        print("| tokens | metier | FTS5 |\n|---|---|---|")
        for row in table:
            print(f"| {row['budget']:,} | {row['metier']} | {row['fts5']} |")
        print(f"target at 2,000 tokens: {TARGET} {'met' if met else 'MISSED'}")
    return 0 if met else 1


def _labels(skills: dict[str, Shown]) -> dict[str, str]:
    """Every skill under a name of its own: a twin of another publisher on the page is not the right skill."""
    seen: Counter[str] = Counter()
    labels = {}
    for skill in skills.values():
        seen[skill.name] += 1
        labels[skill.id] = skill.name if seen[skill.name] == 1 else f"{skill.name}-{seen[skill.name]}"
    return labels


def _all(first: list[Shown], skills: dict[str, Shown]) -> list[Shown]:
    """The ranked ones, then enough of the others that there is always something left to leave out."""
    seen = {skill.id for skill in first}
    return first + [skill for skill in list(skills.values())[:500] if skill.id not in seen]


if __name__ == "__main__":
    sys.exit(main())
