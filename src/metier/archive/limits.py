"""How much one archive may hold. The figures are those of pip, cargo and the peers, on the generous side for a skill."""

from __future__ import annotations

from metier.errors import RefusedError
from metier.values import dataclass

__all__ = ["REPOSITORY_LIMITS", "SKILL_LIMITS", "ArchiveLimits", "archive_error"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    total: int = 50 * _MIB
    """Bytes of all files together, unpacked."""
    file: int = 10 * _MIB
    files: int = 2_000
    """Files, links and folders together."""
    ratio: int = 200
    """Unpacked to packed, counted once more than `ratio_after` bytes have come out."""
    ratio_after: int = _MIB
    depth: int = 16
    path: int = 240
    """Bytes of one path in UTF-8."""

    def check_file(self, path: str, size: int) -> None:
        if size > self.file:
            raise archive_error("size", f"{path!r} has {size:,} bytes, more than the {self.file:,} that one file may have")

    def check_total(self, size: int, packed: int | None = None) -> None:
        if size > self.total:
            raise archive_error("size", f"the files have more than {self.total:,} bytes together")
        if packed is not None and size > self.ratio_after and size > packed * self.ratio:
            raise archive_error("ratio", f"{packed:,} bytes would unpack to more than {self.ratio} times as much, like a bomb")

    def check_count(self, count: int) -> None:
        if count > self.files:
            raise archive_error("count", f"there are more than {self.files:,} files")


SKILL_LIMITS = ArchiveLimits()
REPOSITORY_LIMITS = ArchiveLimits(total=256 * _MIB, file=64 * _MIB, files=20_000, depth=40, path=1_000)
"""For an archive of a whole repository; each skill that is taken out of it still has to keep the limits of a skill."""


def archive_error(rule: str, message: str, *, hint: str = "") -> RefusedError:
    """The one way in which this room says no: nothing of the archive is used."""
    return RefusedError(message, rule=f"archive-{rule}", hint=hint or "ask its author for a clean copy; nothing was written")
