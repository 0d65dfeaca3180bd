"""Skills over the Model Context Protocol: a server for every host that speaks it, and other servers' skills as a source.

The SDK is imported by the modules that speak; what a catalog needs of this room does without it.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http import HttpOptions
    from .published_skill import PublishedSkill, publish_entry
    from .served_catalog import ServedCatalog, serve_catalog
    from .server import SkillServer
    from .transports import serve_http, serve_stdio
    from .watcher import SkillWatcher

_EXPORTS = {
    "metier.mcp.http": ("HttpOptions",),
    "metier.mcp.watcher": ("SkillWatcher",),
    "metier.mcp.served_catalog": ("ServedCatalog", "serve_catalog"),
    "metier.mcp.published_skill": ("PublishedSkill", "publish_entry"),
    "metier.mcp.server": ("SkillServer",),
    "metier.mcp.transports": ("serve_http", "serve_stdio"),
}
__all__ = [
    "HttpOptions",
    "PublishedSkill",
    "ServedCatalog",
    "SkillServer",
    "SkillWatcher",
    "publish_entry",
    "serve_catalog",
    "serve_http",
    "serve_stdio",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
