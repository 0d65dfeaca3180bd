"""Archives of the registry by the hex of their SHA-256: files, or an object store."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from metier.errors import UsageError
from metier.registry.domain.protocols import BlobStore

from .cached import LARGEST_CACHED, CachedBlobs
from .digests import is_intact
from .files import FileBlobs

__all__ = ["LARGEST_CACHED", "CachedBlobs", "FileBlobs", "is_intact", "open_blobs"]


def open_blobs(url: str) -> BlobStore:
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return FileBlobs(unquote(parts.path))
    if parts.scheme in ("s3", "gs", "az", "memory"):
        from .object_store import ObjectBlobs

        return ObjectBlobs.at(url)
    raise UsageError(
        f"{url!r} is not the address of a blob store", hint="use file:///path, s3://bucket, gs://bucket or az://container"
    )
