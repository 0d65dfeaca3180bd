"""Blobs in an object store: S3 and compatible servers, Google Cloud Storage, Azure; and memory for tests.

Names are digests, so writing one twice is harmless. Create-only writes, which some servers lack, are not needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterable, AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from metier.errors import UnavailableError, UsageError, connection_problem

from .chunks import PIECE, verified
from .digests import blob_damaged, blob_not_found, check_digest, matches

__all__ = ["ObjectBlobs"]

_ROOT = "blobs/sha256"
_TIMEOUT = "10s"
_OPTIONS = ("endpoint", "region", "access_key_id", "secret_access_key", "virtual_hosted_style_request", "skip_signature")


class ObjectBlobs:
    def __init__(self, store: Any) -> None:  # Any: one of obstore's stores
        self._store = store

    @classmethod
    def at(cls, url: str) -> ObjectBlobs:
        """Opens `s3://bucket/prefix?endpoint=http://…&region=…`. Keys come from the environment or the address."""
        parts = urlsplit(url)
        options_given = dict(parse_qsl(parts.query))
        unknown = sorted(options_given.keys() - set(_OPTIONS))
        if unknown:
            raise UsageError(f"unknown blob store option {unknown[0]!r}", hint=f"use {', '.join(_OPTIONS)}")
        if parts.scheme == "memory":
            return cls(MemoryStore())
        prefix = parts.path.strip("/") or None
        options: dict[str, Any] = {"client_options": {"timeout": _TIMEOUT, "allow_http": True},
                                   "retry_config": {"max_retries": 2, "retry_timeout": timedelta(seconds=5)}}  # fmt: skip
        if parts.scheme == "gs":
            return cls(GCSStore(parts.netloc, prefix=prefix, **options))
        if parts.scheme == "az":
            return cls(AzureStore(parts.netloc, prefix=prefix, **options))
        return cls(S3Store(parts.netloc, prefix=prefix, config=options_given, **options))  # type: ignore[arg-type]  # from an address

    async def put(self, name: str, data: bytes) -> None:
        check_digest(name, data)
        with _TranslateErrors():
            await obstore.put_async(self._store, _key(name), data, attributes={"Content-Type": "application/zip"})

    async def get(self, name: str) -> bytes:
        try:
            with _TranslateErrors():
                found = await obstore.get_async(self._store, _key(name))
                data = bytes(await found.bytes_async())
        except FileNotFoundError:
            raise blob_not_found(name) from None
        if not await asyncio.to_thread(matches, name, data):
            raise blob_damaged(name)
        return data

    async def chunks(self, name: str) -> AsyncIterator[bytes]:
        try:
            with _TranslateErrors():
                found = await obstore.get_async(self._store, _key(name))
                async for piece in verified(name, _pieces(found.stream(min_chunk_size=PIECE))):
                    yield piece
        except FileNotFoundError:
            raise blob_not_found(name) from None

    async def has(self, name: str) -> bool:
        try:
            with _TranslateErrors():
                await obstore.head_async(self._store, _key(name))
        except FileNotFoundError:
            return False
        return True

    async def delete(self, name: str) -> None:
        with _TranslateErrors(), contextlib.suppress(FileNotFoundError):
            await obstore.delete_async(self._store, _key(name))

    async def names(self) -> AsyncIterator[tuple[str, int, int]]:
        with _TranslateErrors():
            async for batch in obstore.list(self._store, _ROOT, chunk_size=1000):
                for item in batch:
                    name, written = item["path"].rpartition("/")[2], int(item["last_modified"].timestamp() * 1000)
                    yield name, written, item["size"]

    async def link(self, name: str, *, filename: str, seconds: int) -> str | None:  # noqa: ARG002  (the address contains the name)
        if isinstance(self._store, MemoryStore):
            return None
        # Signing an address sends no request.
        return await obstore.sign_async(self._store, "GET", _key(name), timedelta(seconds=seconds))

    async def ping(self) -> None:
        with _TranslateErrors(), contextlib.suppress(FileNotFoundError):
            await asyncio.wait_for(obstore.head_async(self._store, _key("0" * 64)), 5)

    async def clock(self) -> int:
        probe = f"clock-{os.urandom(8).hex()}"
        with _TranslateErrors():
            await obstore.put_async(self._store, probe, b"")
            written = (await obstore.head_async(self._store, probe))["last_modified"]
            await obstore.delete_async(self._store, probe)
        return int(written.timestamp() * 1000)

    async def close(self) -> None:
        """Connections close with the store."""


async def _pieces(chunks: AsyncIterable[Any]) -> AsyncIterator[bytes]:  # Any: obstore's buffers
    """Splits chunks that are larger than a piece; a store in memory has one for all."""
    async for chunk in chunks:
        data = bytes(chunk)
        for start in range(0, len(data), PIECE):
            yield data[start : start + PIECE]


def _key(name: str) -> str:
    return f"{_ROOT}/{name[:2]}/{name[2:4]}/{name}"


class _TranslateErrors:
    """Raises UnavailableError for errors of the object store, except FileNotFoundError."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (BaseError, OSError)) and not isinstance(error, FileNotFoundError):
            why = connection_problem(error)[:200]
            raise UnavailableError(f"cannot reach the object store: {why}", hint="try again in a moment") from error
