"""Packages whose names are imported on first use (PEP 562).

Starting Python takes 12 ms, and importing some of our packages as long again. A caller pays only for the names it uses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["lazy_exports"]


def lazy_exports(
    package: str, exports: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Returns the `__getattr__` and `__dir__` of a package, given the modules that define its names."""
    module_of = {name: module for module, names in exports.items() for name in names}

    def find(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(module_of[name]), name)

    return find, lambda: sorted(module_of)
