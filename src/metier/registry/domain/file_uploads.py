"""Files that are uploaded one by one before the release that names them, as the ClawHub client does.

A ticket belongs to the token that asked for it, to one digest and to one release: a publish uses it up. It expires after an
hour. So a storage id gives access to nothing but the files that the same token has just uploaded.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Sequence

from metier.errors import NotFoundError, UsageError

from .access import Caller
from .protocols import BlobStore, UploadStore
from .records import Millis
from .tokens import hash_secret

__all__ = ["FileUploads"]

_LIFETIME_MS = 3_600_000
_MOST_OPEN = 2_000
"""Unused tickets of one token."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class FileUploads:
    def __init__(self, store: UploadStore, blobs: BlobStore, clock: Callable[[], Millis]) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock

    async def ticket(self, caller: Caller, digest: str) -> str:
        """Returns a ticket to upload the file with this SHA-256."""
        token = self._token(caller)
        if not _DIGEST.fullmatch(digest):
            raise UsageError("invalid sha256", hint="use 64 lowercase hex digits")
        now, text = self._clock(), secrets.token_urlsafe(32)
        opened = await self._store.add_upload(
            hash_secret(text), token, digest=digest, now=now, expires=now + _LIFETIME_MS, most=_MOST_OPEN
        )
        if not opened:
            raise UsageError(f"more than {_MOST_OPEN:,} unused uploads", hint="publish them, or wait an hour")
        return text

    async def store(self, caller: Caller, ticket: str, data: bytes) -> None:
        """Stores the file of a ticket."""
        token, hashed, now = self._token(caller), hash_secret(ticket), self._clock()
        digest = await self._store.upload(hashed, token, now=now)
        if digest is None:
            raise _unknown(ticket)
        if hashlib.sha256(data).hexdigest() != digest:
            raise UsageError("the file does not match its sha256", hint="upload it again")
        await self._blobs.put(digest, data)
        await self._store.finish_upload(hashed)

    async def digests(self, caller: Caller, tickets: Sequence[str]) -> list[str]:
        """Returns the digests of the uploaded files of a release, in the same order."""
        if len(set(tickets)) != len(tickets):
            raise UsageError("a storageId occurs twice", hint="upload each file of a release by itself")
        hashed = [hash_secret(text) for text in tickets]
        found = await self._store.stored_uploads(hashed, self._token(caller), now=self._clock())
        if len(found) != len(tickets):
            raise NotFoundError("a file of the release was not uploaded", hint="upload every file again, then publish")
        return [found[each] for each in hashed]

    async def use(self, tickets: Sequence[str]) -> None:
        """Ends the tickets of a release that was published."""
        await self._store.delete_uploads([hash_secret(text) for text in tickets])

    def _token(self, caller: Caller) -> int:
        acting = caller.acts_for
        caller.require(acting is None or bool(acting), "upload files", scope="publish:NAMESPACE")
        if caller.token is None:
            raise AssertionError("require raises without a token")
        return caller.token.id


def _unknown(ticket: str) -> NotFoundError:
    return NotFoundError(f"no upload {ticket[:12]!r} is open for this token", hint="ask for a new upload address")
