"""The order in which skills and their dependencies are installed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from metier.errors import NotFoundError, RefusedError

__all__ = ["in_order"]


def in_order(
    roots: Iterable[str], needs: Callable[[str], Iterable[str] | None], *, present: Collection[str] = ()
) -> tuple[str, ...]:
    """Returns the roots and all their dependencies, each after what it depends on.

    `needs` returns a skill's dependencies, or None if it is not offered; then it must be in `present`.
    Raises RefusedError for a cycle.
    """
    done: dict[str, None] = {}
    path: list[str] = []

    def visit(name: str, wanted_by: str | None) -> None:
        if name in done:
            return
        if name in path:
            circle = " -> ".join([*path[path.index(name) :], name])
            raise RefusedError(f"the skills depend on each other: {circle}", rule="dependency-cycle",
                          hint="report it to their author; --no-deps installs a skill without its dependencies")  # fmt: skip
        needed = needs(name)
        if needed is None:
            if name not in present and wanted_by is not None:
                raise NotFoundError(f"{wanted_by} depends on {name!r}, which is neither installed nor in the same source",
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
