"""Skills over the Model Context Protocol: a server for hosts that speak it, and other servers' skills as a source.

The SDK is imported by the modules that talk to a peer; what a catalog needs of this package does without it.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .client_config import (
        ClientName,
        ConfigFile,
        ConfigScope,
        ServerCommand,
        config_file_of,
        configured_servers,
        metier_server,
        plan_change,
    )
    from .connections import list_entries
    from .general_tools import GeneralTools
    from .published_skill import PublishedSkill, publish_entry
    from .remote_servers import HOW_TO_CONFIGURE, RefreshResult, RemoteServer, RemoteServers, ServerListing, needs_sdk
    from .served_catalog import ServedCatalog, serve_catalog
    from .server import SkillServer
    from .tools import OpenSession
    from .transports import HttpOptions, serve_http, serve_stdio
    from .watcher import SkillWatcher

_EXPORTS = {
    "metier.mcp.client_config": (
        "ClientName", "ConfigFile", "ConfigScope", "ServerCommand", "config_file_of", "configured_servers", "metier_server",
        "plan_change",
    ),
    "metier.mcp.connections": ("list_entries",),
    "metier.mcp.general_tools": ("GeneralTools",),
    "metier.mcp.published_skill": ("PublishedSkill", "publish_entry"),
    "metier.mcp.remote_servers": (
        "HOW_TO_CONFIGURE", "RefreshResult", "RemoteServer", "RemoteServers", "ServerListing", "needs_sdk",
    ),
    "metier.mcp.served_catalog": ("ServedCatalog", "serve_catalog"),
    "metier.mcp.server": ("SkillServer",),
    "metier.mcp.tools": ("OpenSession",),
    "metier.mcp.transports": ("HttpOptions", "serve_http", "serve_stdio"),
    "metier.mcp.watcher": ("SkillWatcher",),
}  # fmt: skip
__all__ = [
    "HOW_TO_CONFIGURE",
    "ClientName",
    "ConfigFile",
    "ConfigScope",
    "GeneralTools",
    "HttpOptions",
    "OpenSession",
    "PublishedSkill",
    "RefreshResult",
    "RemoteServer",
    "RemoteServers",
    "ServedCatalog",
    "ServerCommand",
    "ServerListing",
    "SkillServer",
    "SkillWatcher",
    "config_file_of",
    "configured_servers",
    "list_entries",
    "metier_server",
    "needs_sdk",
    "plan_change",
    "publish_entry",
    "serve_catalog",
    "serve_http",
    "serve_stdio",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
