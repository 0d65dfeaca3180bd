"""Unpacks an archive. Its format is detected from the bytes, never from a name or a header."""

from __future__ import annotations

from metier.spec import SKILL_FILE

from .contents import Contents
from .limits import SKILL_LIMITS, ArchiveLimits, archive_error
from .tar_reader import gunzip, untar
from .writer import ArchiveFormat
from .zip_reader import unzip

__all__ = ["sniff_format", "strip_top_folder", "unpack"]

_MAC_EXTRAS = "__MACOSX"


def sniff_format(data: bytes) -> ArchiveFormat | None:
    """Returns the format of an archive, or None if it is not supported."""
    if data[:4] in (b"PK\3\4", b"PK\5\6"):
        return ArchiveFormat.ZIP
    return ArchiveFormat.TAR_GZ if data[:3] == b"\x1f\x8b\x08" else None


def unpack(data: bytes, *, limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
    """Returns all files of a zip or tar.gz. Raises RefusedError if one entry is bad: other programs might not skip it."""
    match sniff_format(data):
        case ArchiveFormat.ZIP:
            return unzip(data, limits)
        case ArchiveFormat.TAR_GZ:
            return untar(gunzip(data, limits), limits)
        case None:
            raise archive_error("format", f"this is neither a zip nor a tar.gz; it begins with {_display(data)}",
                          hint="check the address: error pages and login pages come as HTML")  # fmt: skip


def strip_top_folder(contents: Contents, *, limits: ArchiveLimits = SKILL_LIMITS) -> Contents:
    """Returns the contents without the single top folder that forges and file managers add, if there is one."""
    tops = {path.split("/")[0] for path in _paths(contents)} - {_MAC_EXTRAS}
    at_top = {path for path in _paths(contents) if "/" not in path}
    if SKILL_FILE in at_top or len(tops) != 1 or at_top:
        if any(path.startswith(f"{_MAC_EXTRAS}/") for path in _paths(contents)):
            return contents.without((_MAC_EXTRAS,))
        return contents
    return contents.below(tops.pop(), limits=limits)


def _paths(contents: Contents) -> list[str]:
    return [member.path for member in contents.members] + [link.path for link in contents.links]


def _display(data: bytes) -> str:
    return ascii(data[:24].decode("utf-8", "replace"))
