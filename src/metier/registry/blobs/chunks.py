"""Blobs in pieces, so that a slow reader of a large archive does not hold it in memory."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator

from .digests import blob_damaged

__all__ = ["PIECE", "read_pieces", "verified"]

PIECE = 128 * 1024


async def verified(name: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields the pieces, the last one only if all together match the name: a damaged archive is never complete."""
    digest = hashlib.sha256()
    held = b""
    async for piece in pieces:
        if held:
            yield held
        digest.update(piece)
        held = piece
    if digest.hexdigest() != name:
        raise blob_damaged(name)
    yield held


async def read_pieces(descriptor: int) -> AsyncIterator[bytes]:
    """Reads a file to its end on a thread, and closes it."""
    try:
        while piece := await asyncio.to_thread(os.read, descriptor, PIECE):
            yield piece
    finally:
        os.close(descriptor)
