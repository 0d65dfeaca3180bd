"""Work that is done on first use: importing the names of a package (PEP 562), and compiling a pattern.

Starting Python takes 12 ms, and importing some of our packages as long again. A caller pays only for the names it uses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping
    from typing import Any

__all__ = ["lazy_exports", "lazy_pattern"]


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


def lazy_pattern(spelled: str, flags: int = 0) -> re.Pattern[str]:
    """Works as `re.compile`, but compiles on first use: an import that compiles twenty patterns takes 5 ms."""
    lazy: Any = _LazyPattern(spelled, flags)  # Any: it forwards every attribute to the compiled pattern
    pattern: re.Pattern[str] = lazy
    return pattern


class _LazyPattern:
    def __init__(self, spelled: str, flags: int) -> None:
        self._spelled, self._flags = spelled, flags
        self._compiled: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:  # Any: the type of the compiled pattern's attribute
        if self._compiled is None:
            import re

            self._compiled = re.compile(self._spelled, self._flags)
        found = getattr(self._compiled, name)
        # Set on the instance, so that the next access skips this method.
        setattr(self, name, found)
        return found
