"""A skill as one file: packed to the same bytes every time, and unpacked in memory, whole or not at all."""

from __future__ import annotations

from metier.lazy import lazy_exports

from .contents import Contents, Link, Member, read_contents
from .digest import EXECUTABLE, LINK, PLAIN, digest, digest_of_hashes, file_hashes
from .limits import REPOSITORY_LIMITS, SKILL_LIMITS, ArchiveLimits, archive_error
from .portable_names import collision_key, portable_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .reader import sniff_format, strip_top_folder, unpack
    from .writer import ArchiveFormat, pack

__all__ = [
    "EXECUTABLE",
    "LINK",
    "PLAIN",
    "REPOSITORY_LIMITS",
    "SKILL_LIMITS",
    "ArchiveFormat",
    "ArchiveLimits",
    "Contents",
    "Link",
    "Member",
    "archive_error",
    "collision_key",
    "digest",
    "digest_of_hashes",
    "file_hashes",
    "pack",
    "portable_path",
    "read_contents",
    "sniff_format",
    "strip_top_folder",
    "unpack",
]

if not TYPE_CHECKING:  # a copy of a folder packs and unpacks nothing
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.archive.writer": ("ArchiveFormat", "pack"),
            "metier.archive.reader": ("sniff_format", "unpack", "strip_top_folder"),
        },
    )
