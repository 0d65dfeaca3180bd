"""Skills on disk: where they are, what they say, and when that changes."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .cache import MetadataCache
    from .discovery import Limits, catalog_of, discover
    from .disk import DiskFiles
    from .loader import SkillLoader, load_folder
    from .machine import Machine
    from .places import BUNDLED, Place, standard_places
    from .trust import Trust
    from .watching import Change, ChangeKind, Update, changes, watch

__all__ = [
    "BUNDLED",
    "Change",
    "ChangeKind",
    "DiskFiles",
    "Limits",
    "Machine",
    "MetadataCache",
    "Place",
    "SkillLoader",
    "Trust",
    "Update",
    "catalog_of",
    "changes",
    "discover",
    "load_folder",
    "standard_places",
    "watch",
]

# `sources.walk` is all that a listing needs which has not changed, and it must not bring the rest along.
if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.sources.cache": ("MetadataCache",),
            "metier.sources.discovery": ("Limits", "catalog_of", "discover"),
            "metier.sources.disk": ("DiskFiles",),
            "metier.sources.loader": ("SkillLoader", "load_folder"),
            "metier.sources.machine": ("Machine",),
            "metier.sources.places": ("BUNDLED", "Place", "standard_places"),
            "metier.sources.trust": ("Trust",),
            "metier.sources.watching": ("Change", "ChangeKind", "Update", "changes", "watch"),
        },
    )
