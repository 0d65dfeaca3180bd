"""Rankers that a library can be measured with, side by side: the local one, word search of two kinds, and an agent's list.

A ranker is made for a library, because decay by size needs many libraries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from metier.selection import SelectableSkill, Selector
from metier.sources import open_memory_database

__all__ = [
    "LOCAL_RANKER",
    "MakeRanker",
    "Ranker",
    "ShownSkill",
    "full_text_ranker",
    "listing_ranker",
    "local_ranker",
    "rankers_here",
]

Ranker = Callable[[str, int], Sequence[str]]
"""Returns the ids of the best skills for a request, the best first; at most the given number."""
MakeRanker = Callable[[Sequence[SelectableSkill]], Ranker]
LOCAL_RANKER = "metier"
_MOST_WORDS = 200


def rankers_here() -> dict[str, MakeRanker]:
    """Returns the rankers that can run on this machine by name, ours first."""
    found: dict[str, MakeRanker] = {LOCAL_RANKER: local_ranker, "SQLite FTS5": full_text_ranker}
    if find_spec("bm25s") is not None:
        found["bm25s"] = bm25s_ranker
    return found


def local_ranker(skills: Sequence[SelectableSkill]) -> Ranker:
    selector = Selector(skills)
    return lambda request, limit: [match.id for match in selector.select(request, limit).selected]


def full_text_ranker(skills: Sequence[SelectableSkill]) -> Ranker:
    """Word search as many programs have it: SQLite's FTS5 with Porter stems, name 4, description 2, body 1."""
    database = open_memory_database()
    database.execute(
        "create virtual table skill using fts5(id unindexed, name, description, body, tokenize='porter unicode61')"
    )
    rows = ((skill.id, skill.name.replace("-", " "), skill.description, _body(skill)) for skill in skills)
    database.executemany("insert into skill values (?, ?, ?, ?)", rows)

    def rank(request: str, limit: int) -> list[str]:
        words = list(dict.fromkeys(re.findall(r"\w+", request.lower())))[:_MOST_WORDS]
        asked = " OR ".join(f'"{word}"' for word in words)
        ask = "select id from skill where skill match ? order by bm25(skill, 0, 4, 2, 1) limit ?"
        return [row[0] for row in database.execute(ask, (asked, limit))] if asked else []

    return rank


def bm25s_ranker(skills: Sequence[SelectableSkill]) -> Ranker:
    """The library bm25s, where it is installed, over name, description and body as one text."""
    import bm25s

    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    index = bm25s.BM25()
    index.index([words(f"{skill.name} {skill.description} {_body(skill)}") for skill in skills], show_progress=False)
    ids = [skill.id for skill in skills]

    def rank(request: str, limit: int) -> list[str]:
        places, _ = index.retrieve([words(request)], k=min(limit, len(ids)), show_progress=False)
        return [ids[place] for place in places[0]]

    return rank


class ShownSkill:
    """A skill with what an agent shows its model of it."""

    __slots__ = ("description", "id", "name")

    def __init__(self, id: str, name: str, description: str) -> None:  # noqa: A002 - what a skill has
        self.id, self.name, self.description = id, name, description


def listing_ranker(shown: Mapping[str, str]) -> MakeRanker:
    """Returns the local ranker over what an agent's list shows: the description of each id; others are not seen."""

    def make(skills: Sequence[SelectableSkill]) -> Ranker:
        seen = [ShownSkill(skill.id, skill.name, shown[skill.id]) for skill in skills if skill.id in shown]
        return local_ranker(seen) if seen else lambda _request, _limit: []

    return make


def _body(skill: SelectableSkill) -> str:
    body: str = getattr(skill, "body", "")
    return body
