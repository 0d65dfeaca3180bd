"""A skill as one file: packed the same way every time, unpacked in memory and only when every byte is accounted for."""

from __future__ import annotations

from metier.lazy import lazy_exports

from .contents import Contents, Link, Member, gathered
from .digest import digest, digest_of, file_hashes
from .limits import REPOSITORY_LIMITS, SKILL_LIMITS, Limits
from .names import collision_key, portable_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .packing import Format, pack
    from .unpacking import sniff, unpack, unwrap

__all__ = [
    "REPOSITORY_LIMITS",
    "SKILL_LIMITS",
    "Contents",
    "Format",
    "Limits",
    "Link",
    "Member",
    "collision_key",
    "digest",
    "digest_of",
    "file_hashes",
    "gathered",
    "pack",
    "portable_path",
    "sniff",
    "unpack",
    "unwrap",
]

if not TYPE_CHECKING:  # a copy of a folder packs and unpacks nothing
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.archive.packing": ("Format", "pack"),
            "metier.archive.unpacking": ("sniff", "unpack", "unwrap"),
        },
    )
