"""Packages whose names load when they are first used (PEP 562).

A start of Python costs 12 ms and some of our rooms as much again, so whoever needs one name must not pay for all of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["on_demand"]


def on_demand(package: str, rooms: Mapping[str, tuple[str, ...]]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose names live in these modules."""
    room_of = {name: room for room, names in rooms.items() for name in names}

    def find(name: str) -> object:
        if name not in room_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(room_of[name]), name)

    return find, lambda: sorted(room_of)
