"""Blobs in an object store: S3 and what speaks like it, Google's, Azure's; and memory, for tests.

Names are digests, so writing one twice writes the same: nothing depends on create-only writes, which not every server has.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from metier.errors import UnavailableError, UsageError

from .files import checked, no_blob

__all__ = ["ObjectBlobs"]

_ROOT = "blobs/sha256"
_PATIENCE = "10s"
_OPTIONS = ("endpoint", "region", "access_key_id", "secret_access_key", "virtual_hosted_style_request", "skip_signature")


class ObjectBlobs:
    def __init__(self, store: Any) -> None:  # Any: one of obstore's stores
        self._store = store

    @classmethod
    def at(cls, url: str) -> ObjectBlobs:
        """`s3://bucket/prefix?endpoint=http://…&region=…`; keys come from the usual variables, or the address."""
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query))
        unknown = sorted(asked.keys() - set(_OPTIONS))
        if unknown:
            raise UsageError(f"{unknown[0]!r} is no option of a blob store", hint=f"use {', '.join(_OPTIONS)}")
        if parts.scheme == "memory":
            return cls(MemoryStore())
        prefix = parts.path.strip("/") or None
        options: dict[str, Any] = {"client_options": {"timeout": _PATIENCE, "allow_http": True},
                                   "retry_config": {"max_retries": 2, "retry_timeout": timedelta(seconds=5)}}  # fmt: skip
        if parts.scheme == "gs":
            return cls(GCSStore(parts.netloc, prefix=prefix, **options))
        if parts.scheme == "az":
            return cls(AzureStore(parts.netloc, prefix=prefix, **options))
        return cls(S3Store(parts.netloc, prefix=prefix, config=asked, **options))  # type: ignore[arg-type]  # from an address

    async def put(self, name: str, data: bytes) -> None:
        checked(name, data)
        with _telling():
            await obstore.put_async(self._store, _key(name), data, attributes={"Content-Type": "application/zip"})

    async def get(self, name: str) -> bytes:
        try:
            with _telling():
                found = await obstore.get_async(self._store, _key(name))
                data = bytes(await found.bytes_async())
        except FileNotFoundError:
            raise no_blob(name) from None
        try:
            checked(name, data)
        except ValueError:
            raise UnavailableError(f"the blob {name} is damaged", hint="restore it from a backup", retryable=False) from None
        return data

    async def has(self, name: str) -> bool:
        try:
            with _telling():
                await obstore.head_async(self._store, _key(name))
        except FileNotFoundError:
            return False
        return True

    async def delete(self, name: str) -> None:
        with _telling(), contextlib.suppress(FileNotFoundError):
            await obstore.delete_async(self._store, _key(name))

    async def names(self) -> AsyncIterator[tuple[str, int]]:
        with _telling():
            async for batch in obstore.list(self._store, _ROOT, chunk_size=1000):
                for item in batch:
                    yield item["path"].rpartition("/")[2], int(item["last_modified"].timestamp() * 1000)

    async def link(self, name: str, *, filename: str, seconds: int) -> str | None:  # noqa: ARG002  (it is in the address)
        if isinstance(self._store, MemoryStore):
            return None
        # Signing is arithmetic, no request.
        return await obstore.sign_async(self._store, "GET", _key(name), timedelta(seconds=seconds))

    async def ping(self) -> None:
        with _telling(), contextlib.suppress(FileNotFoundError):
            await asyncio.wait_for(obstore.head_async(self._store, _key("0" * 64)), 5)

    async def close(self) -> None:
        """Connections end with the store."""


def _key(name: str) -> str:
    return f"{_ROOT}/{name[:2]}/{name[2:4]}/{name}"


class _telling:  # noqa: N801  (reads as a verb)
    """What an object store cannot do now is Unavailable; that something is not there stays what it is."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (BaseError, OSError)) and not isinstance(error, FileNotFoundError):
            why = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
            raise UnavailableError(f"the registry cannot reach its archives: {why}", hint="try again in a moment") from error
