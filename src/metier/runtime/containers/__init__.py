"""Scripts in containers: `ContainerRunner` over podman or docker, in the place of the sandbox."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .engine import ContainerOptions, EngineKind
    from .runner import ContainerRunner

_EXPORTS = {
    "metier.runtime.containers.engine": ("ContainerOptions", "EngineKind"),
    "metier.runtime.containers.runner": ("ContainerRunner",),
}
__all__ = ["ContainerOptions", "ContainerRunner", "EngineKind"]

if not TYPE_CHECKING:  # a type checker reads the imports above and finds a misspelled name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
