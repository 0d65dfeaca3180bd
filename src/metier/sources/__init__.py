"""Skills on disk: where they are, what they say, and when that changes."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .discovery import DiscoveryLimits, build_catalog, discover
    from .disk_files import DiskFiles
    from .loader import SkillLoader, load_folder
    from .local_machine import LocalMachine
    from .metadata_cache import MetadataCache
    from .source_folders import BUNDLED, SourceFolder, standard_folders
    from .trust import Trust
    from .watcher import CatalogChange, CatalogUpdate, ChangeKind, changes, watch

__all__ = [
    "BUNDLED",
    "CatalogChange",
    "CatalogUpdate",
    "ChangeKind",
    "DiscoveryLimits",
    "DiskFiles",
    "LocalMachine",
    "MetadataCache",
    "SkillLoader",
    "SourceFolder",
    "Trust",
    "build_catalog",
    "changes",
    "discover",
    "load_folder",
    "standard_folders",
    "watch",
]

# `sources.walk` is all that a listing needs which has not changed, and it must not bring the rest along.
if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.sources.metadata_cache": ("MetadataCache",),
            "metier.sources.discovery": ("DiscoveryLimits", "build_catalog", "discover"),
            "metier.sources.disk_files": ("DiskFiles",),
            "metier.sources.loader": ("SkillLoader", "load_folder"),
            "metier.sources.local_machine": ("LocalMachine",),
            "metier.sources.source_folders": ("BUNDLED", "SourceFolder", "standard_folders"),
            "metier.sources.trust": ("Trust",),
            "metier.sources.watcher": ("CatalogChange", "ChangeKind", "CatalogUpdate", "changes", "watch"),
        },
    )
