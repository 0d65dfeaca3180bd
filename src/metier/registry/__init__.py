"""A registry of skills: publish, search, version and serve them, from one laptop to a cluster.

`wire` is what both ends speak. `store` and `blobs` keep rows and bytes behind two small ports. `registry` decides: the JSON
API in `server` and the pages in `web` both ask it, and neither talks to a store. `client` is the other end of the wire.
"""

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .domain.options import ServerOptions
    from .domain.registry import Registry, open_registry
    from .server.app import create_app

__all__ = ["Registry", "ServerOptions", "create_app", "open_registry"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.registry.domain.options": ("ServerOptions",),
            "metier.registry.domain.registry": ("Registry", "open_registry"),
            "metier.registry.server.app": ("create_app",),
        },
    )
