"""One function over many items: in processes of this machine, or on a Ray cluster.

    reports = map_items(scan_packed, items, on=open_map("ray://head:10001"), journal=ResultJournal("scan.jsonl", ScanReport))

Results come in the order of the items. An item that cannot be done is an `ItemFailure` in its place.
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .bulk_map import BulkMap, ItemFailure, map_items, open_map
    from .journal import ResultJournal
    from .local_map import LocalMap
    from .ray_map import RayMap
    from .worker import WorkerProcess

__all__ = ["BulkMap", "ItemFailure", "LocalMap", "RayMap", "ResultJournal", "WorkerProcess", "map_items", "open_map"]

if not TYPE_CHECKING:  # the registry's workers need no journal, and only some callers need Ray
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.bulk.bulk_map": ("BulkMap", "ItemFailure", "map_items", "open_map"),
            "metier.bulk.journal": ("ResultJournal",),
            "metier.bulk.local_map": ("LocalMap",),
            "metier.bulk.ray_map": ("RayMap",),
            "metier.bulk.worker": ("WorkerProcess",),
        },
    )
