"""Bytes, by the hex of their SHA-256."""

from .cached import CachedBlobs
from .files import FileBlobs
from .open import open_blobs

__all__ = ["CachedBlobs", "FileBlobs", "open_blobs"]
