"""The registry's ASGI application: the JSON API and the pages."""

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app import RegistryApp, create_app
    from .uvicorn_server import Listener, serve

__all__ = ["Listener", "RegistryApp", "create_app", "serve"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.registry.server.app": ("RegistryApp", "create_app"),
            "metier.registry.server.uvicorn_server": ("Listener", "serve"),
        },
    )
