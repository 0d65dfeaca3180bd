"""The popular names of a registry, and which of them a new name could be taken for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metier.values import dataclass, field

from .protocols import RegistryStore
from .records import Millis, PackageVisibility
from .search_terms import is_one_slip

__all__ = ["SimilarNames"]

_POPULAR = 100
_MOST = 5_000
_LIFE: Millis = 60_000
_SHORT = 6
"""Letters from which on one slip leaves the first two or the last two as they are."""


@dataclass(slots=True)
class _Popular:
    ends: Millis
    plain: dict[str, str]
    """Names by their letters without hyphens."""
    by_edge: dict[str, list[str]] = field(default_factory=dict)
    """Plain names by their first two and by their last two letters."""


class SimilarNames:
    """Popular names are read once a minute: reading thousands for each new name would take longer than its checks."""

    def __init__(self, store: RegistryStore, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, _Popular] = {}

    async def find(self, kind: str, name: str) -> str | None:
        """Returns the most popular name that is one edit away, or differs by hyphens."""
        known = self._known.get(kind)
        if known is None or self._clock() >= known.ends:
            known = self._known[kind] = await self._read(kind)
        plain = name.replace("-", "")
        near: Iterable[str] = known.plain
        if len(plain) >= _SHORT:
            near = [*known.by_edge.get(f"{plain[:2]}-", ()), *known.by_edge.get(f"-{plain[-2:]}", ())]
        found = {other for other in near if is_one_slip(plain, other)}
        # It may have become private since it was read.
        for other in (known.plain[each] for each in known.plain if each in found) if found else ():
            package = await self._store.find_package(kind, other)
            if package and package.visibility == PackageVisibility.PUBLIC:
                return other
        return None

    async def _read(self, kind: str) -> _Popular:
        names = await self._store.popular(kind, at_least=_POPULAR, limit=_MOST)
        plain: dict[str, str] = {}
        for name in names:
            plain.setdefault(name.replace("-", ""), name)
        known = _Popular(self._clock() + _LIFE, plain)
        for each in plain:
            known.by_edge.setdefault(f"{each[:2]}-", []).append(each)
            known.by_edge.setdefault(f"-{each[-2:]}", []).append(each)
        return known
