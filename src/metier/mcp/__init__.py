"""Skills over the Model Context Protocol: a server for every host that speaks it, and other servers' skills as a source.

The SDK is imported by the modules that speak; what a catalog needs of this room does without it.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .http import Http
    from .live import Live
    from .offering import Offering, offering_of
    from .published import Published, publish
    from .server import SkillServer
    from .serving import serve_http, serve_stdio

_EXPORTS = {
    "metier.mcp.http": ("Http",),
    "metier.mcp.live": ("Live",),
    "metier.mcp.offering": ("Offering", "offering_of"),
    "metier.mcp.published": ("Published", "publish"),
    "metier.mcp.server": ("SkillServer",),
    "metier.mcp.serving": ("serve_http", "serve_stdio"),
}
__all__ = ["Http", "Live", "Offering", "Published", "SkillServer", "offering_of", "publish", "serve_http", "serve_stdio"]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
