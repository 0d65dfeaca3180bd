"""Skills that need other skills: found, put in order, installed together. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from metier.errors import NotFoundError, RefusedError

__all__ = ["dependents", "in_order"]


def in_order(
    roots: Iterable[str], needs: Callable[[str], Iterable[str] | None], *, present: Collection[str] = ()
) -> tuple[str, ...]:
    """The roots and all that they need, each after what it needs.

    `needs` answers with a skill's dependencies, or None if nobody offers it; then it must be in `present`. Refused for a cycle.
    """
    done: dict[str, None] = {}
    path: list[str] = []

    def visit(name: str, wanted_by: str | None) -> None:
        if name in done:
            return
        if name in path:
            circle = " -> ".join([*path[path.index(name) :], name])
            raise RefusedError(f"skills need each other in a circle: {circle}", rule="dependency-cycle",
                          hint="ask their author to cut it; nothing was installed")  # fmt: skip
        needed = needs(name)
        if needed is None:
            if name not in present and wanted_by is not None:
                raise NotFoundError(f"{wanted_by} needs the skill {name!r}, which is neither installed nor in the same source",
                               hint=f"install {name} first, or use --no-deps")  # fmt: skip
            return
        path.append(name)
        for each in needed:
            visit(each, name)
        path.pop()
        done[name] = None

    for root in roots:
        visit(root, None)
    return tuple(done)


def dependents(name: str, needs: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Who needs this skill."""
    return tuple(sorted(other for other, needed in needs.items() if other != name and name in tuple(needed)))
