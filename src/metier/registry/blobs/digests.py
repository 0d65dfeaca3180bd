"""Blobs are named by the SHA-256 of their bytes: checking names, and the errors for missing and damaged blobs."""

from __future__ import annotations

import hashlib

from metier.errors import NotFoundError, UnavailableError
from metier.registry.domain.protocols import BlobStore

__all__ = ["blob_damaged", "blob_not_found", "check_digest", "is_intact", "matches"]


def matches(name: str, data: bytes) -> bool:
    return hashlib.sha256(data).hexdigest() == name


def check_digest(name: str, data: bytes) -> None:
    if not matches(name, data):
        raise ValueError(f"the bytes do not match {name}")


async def is_intact(blobs: BlobStore, name: str) -> bool:
    """Returns whether a blob exists and matches its name. Raises UnavailableError if that cannot be found out."""
    try:
        await blobs.get(name)
    except NotFoundError:
        return False
    except UnavailableError as error:
        if error.retryable:
            raise
        return False
    return True


def blob_not_found(name: str) -> NotFoundError:
    return NotFoundError(f"archive {name[:64]!r} is missing", hint="the archives do not match the database; restore a backup")


def blob_damaged(name: str) -> UnavailableError:
    return UnavailableError(
        f"archive {name} is damaged",
        hint="restore a backup with `metier registry restore FOLDER`, or publish the same files again",
        retryable=False,
    )
