"""The limits for the contents of an archive, similar to those of pip and cargo."""

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
    """Unpacked to packed size, checked after `ratio_after` bytes."""
    ratio_after: int = _MIB
    depth: int = 16
    path: int = 240
    """Bytes of one path in UTF-8."""

    def check_file(self, path: str, size: int) -> None:
        if size > self.file:
            raise archive_error("size", f"{path!r} has {size:,} bytes, more than the limit of {self.file:,}")

    def check_total(self, size: int, packed: int | None = None) -> None:
        if size > self.total:
            raise archive_error("size", f"the files have more than {self.total:,} bytes in total")
        if packed is not None and size > self.ratio_after and size > packed * self.ratio:
            raise archive_error(
                "ratio", f"{packed:,} bytes would unpack to more than {self.ratio} times their size, like a zip bomb"
            )

    def check_count(self, count: int) -> None:
        if count > self.files:
            raise archive_error("count", f"there are more than {self.files:,} files")


SKILL_LIMITS = ArchiveLimits()
REPOSITORY_LIMITS = ArchiveLimits(total=256 * _MIB, file=64 * _MIB, files=20_000, depth=40, path=1_000)
"""For an archive of a whole repository. Each skill taken from it must keep SKILL_LIMITS."""


def archive_error(rule: str, message: str, *, hint: str = "") -> RefusedError:
    """Returns the error for an archive that is rejected: nothing of it is used."""
    return RefusedError(message, rule=f"archive-{rule}", hint=hint or "ask its author for a clean copy; nothing was written")
