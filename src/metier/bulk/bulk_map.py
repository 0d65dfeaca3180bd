"""The port for bulk work, and the call that adds progress, order and a journal to it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from metier.errors import UsageError
from metier.values import dataclass

from .journal import ResultJournal

__all__ = ["BulkMap", "ItemFailure", "map_items", "open_map"]

T = TypeVar("T")
R = TypeVar("R")
_ADDRESS = re.compile(r"ray://[^\s/]+:\d+|[^\s/:]+:\d+|auto")


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """An item that could not be done: its function raised an error, or its worker died each time."""

    reason: str


class BulkMap(Protocol):
    """A way to run one function over many items."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R | ItemFailure]]:
        """Yields the place of each item with its result, as they end.

        `function` is one of a module that every worker can import. An item whose worker dies is tried again. Closing the
        iterator ends all work.
        """


def map_items(
    function: Callable[[T], R], items: Sequence[T], *, on: BulkMap, journal: ResultJournal | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> list[R | ItemFailure]:  # fmt: skip
    """Returns the results in the order of the items. What the journal has is not done again; failures are not kept in it."""
    results: dict[int, Any] = {}  # Any: R, which the journal cannot know
    keys = [journal.key(function, item) for item in items] if journal is not None else []
    for number, key in enumerate(keys):
        if journal is not None and key in journal:
            results[number] = journal[key]
    advance(len(results))
    left = [number for number in range(len(items)) if number not in results]
    done = on.run(function, [items[number] for number in left])
    try:
        for place, result in done:
            number = left[place]
            results[number] = result
            if journal is not None and not isinstance(result, ItemFailure):
                journal.add(keys[number], result)
            advance(1)
    finally:
        # Ends the workers at once on Ctrl-C, not when the iterator is collected.
        close = getattr(done, "close", None)
        if close is not None:
            close()
    return [results[number] for number in range(len(items))]


def open_map(where: str = "local", *, jobs: int | None = None) -> BulkMap:
    """Returns the map for `local`, or for the address of a Ray cluster: `ray://HOST:10001`, `HOST:6379` or `auto`."""
    if where == "local":
        from .local_map import LocalMap

        return LocalMap(jobs or os.cpu_count() or 1)
    if not _ADDRESS.fullmatch(where):
        raise UsageError(f"{where!r} is not the address of a Ray cluster", hint="use ray://HOST:10001, HOST:6379 or local")
    from .ray_map import RayMap

    return RayMap(where, jobs=jobs)
