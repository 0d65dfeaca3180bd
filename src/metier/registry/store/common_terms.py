"""The terms that many packages have, counted over a sample by a job.

A search for such terms matches a great part of the registry, and reading all of it to find a page would take seconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from metier.values import dataclass

from .engine import Engine
from .search_index import Column, SearchStage, read_words_of

__all__ = ["CommonTermRows", "TermShares", "read_shares"]

_SAMPLE = 5_000
_LEAST_SHARE = 0.004
"""Rarer terms are not kept: they select few enough packages."""
_MOST_MATCHES = 6_000
_MOST_READ = 60_000
"""Packages with the rarest word of a search, up to which bodies are searched too."""
_Shares = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class TermShares:
    """How common the groups of a search are."""

    packages: float
    groups: Sequence[_Shares]
    """Shares of packages with the group in the name, in front, and anywhere; 0 for what is rare or unknown."""

    def matches(self, stage: SearchStage, places: Iterable[int] | None = None) -> float:
        """Estimates the matches of all groups of a stage, as if words were independent."""
        column = {Column.NAME: 0, Column.ABOUT: 1}.get(stage.among or Column.BODY, 2)
        chosen = range(len(self.groups)) if places is None else places
        return self.packages * math.prod(self.groups[place][column] for place in chosen)

    def is_rare(self, places: Iterable[int]) -> bool:
        """Returns whether one of the groups is so rare that it leads to a part of the packages.

        GIN reads all packages with the rarest group. Words that are in bodies everywhere tell nothing, and bodies do not rank.
        """
        return self.packages * min(self.groups[place][2] for place in places) <= _MOST_READ

    def is_broad(self, stage: SearchStage, places: Iterable[int] | None = None) -> bool:
        return self.matches(stage, places) > _MOST_MATCHES


async def read_shares(engine: Engine, groups: Sequence[Sequence[str]], prefix: str) -> TermShares:
    every = ["", *dict.fromkeys(term for group in groups for term in group)]
    starts, arguments = (" or substr(term, 1, ?) = ?", [len(prefix), prefix]) if prefix else ("", [])
    rows = await engine.rows(
        f"select term, name, front, whole from common_term where term in ({', '.join('?' * len(every))}){starts}",
        (*every, *arguments),
    )
    known: dict[str, _Shares] = {term: (name, front, whole) for term, name, front, whole in rows}
    packages = known.pop("", (0.0, 0.0, 0.0))[2]
    found = [_any_of(known, group) for group in groups]
    if prefix:
        found[-1] = _any_of(known, [*groups[-1], *(term for term in known if term.startswith(prefix))])
    return TermShares(packages, found)


def _any_of(known: dict[str, _Shares], terms: Sequence[str]) -> _Shares:
    """Returns the shares of packages with at least one of the terms."""
    shares = [known[term] for term in dict.fromkeys(terms) if term in known]
    name, front, whole = (1 - math.prod(1 - share[column] for share in shares) for column in range(3))
    return name, front, whole


class CommonTermRows:
    engine: Engine

    async def count_terms(self) -> int:
        """Counts the common terms again, over packages that are spread evenly. Returns the number of common terms."""
        highest = (await self.engine.rows("select coalesce(max(id), 0) from package"))[0][0]
        step = max(1, highest // _SAMPLE)
        sample = list(range(step, highest + 1, step))
        counts = Counter[str](), Counter[str](), Counter[str]()
        total = 0
        async with self.engine.snapshot() as reader:
            async for name, tags, about, body in read_words_of(reader, self.engine.dialect, sample):
                total += 1
                counts[0].update(name)
                counts[1].update({*name, *tags, *about})
                counts[2].update({*name, *tags, *about, *body})
        least = max(_LEAST_SHARE * total, 1)
        rows = [
            (term, counts[0][term] / total, counts[1][term] / total, number / total)
            for term, number in counts[2].items() if number > least
        ]  # fmt: skip
        async with self.engine.transaction() as transaction:
            await transaction.rows("delete from common_term")
            await transaction.execute_many(
                "insert into common_term (term, name, front, whole) values (?, ?, ?, ?)",
                [("", 0.0, 0.0, float(total * step)), *rows],
            )
        return len(rows)
