"""An address to a store of blobs."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from metier.errors import UsageError
from metier.registry.domain.protocols import BlobStore

from .files import FileBlobs

__all__ = ["open_blobs"]


def open_blobs(url: str) -> BlobStore:
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return FileBlobs(unquote(parts.path))
    if parts.scheme in ("s3", "gs", "az", "memory"):
        from .object_store import ObjectBlobs

        return ObjectBlobs.at(url)
    raise UsageError(
        f"{url!r} is no address of a blob store", hint="write file:///path, s3://bucket, gs://bucket or az://container"
    )
