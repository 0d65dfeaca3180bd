"""Blobs as files. They are written to a temporary file, flushed and renamed, so readers never see a partial one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator

from metier.errors import UnavailableError

from .chunks import read_pieces, verified
from .digests import blob_damaged, blob_not_found, check_digest, matches

__all__ = ["FileBlobs"]

_NAME = re.compile(r"[0-9a-f]{64}")
_SMALL = 1024 * 1024
_TEMPORARY = ".new-"
_ABANDONED_SECONDS = 3600


class FileBlobs:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    async def put(self, name: str, data: bytes) -> None:
        check_digest(name, data)
        await asyncio.to_thread(self._put, name, data)

    async def get(self, name: str) -> bytes:
        try:
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                # Reading a small file is faster than a hop to a thread.
                size = os.fstat(descriptor).st_size
                small = size <= _SMALL
                data = os.read(descriptor, size) if small else await asyncio.to_thread(_read, descriptor, size)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            raise blob_not_found(name) from None
        except OSError as error:
            raise _unavailable(error) from error
        if not (matches(name, data) if small else await asyncio.to_thread(matches, name, data)):
            raise blob_damaged(name)
        return data

    async def chunks(self, name: str) -> AsyncIterator[bytes]:
        try:
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
            async for piece in verified(name, read_pieces(descriptor)):
                yield piece
        except FileNotFoundError:
            raise blob_not_found(name) from None
        except OSError as error:
            raise _unavailable(error) from error

    async def has(self, name: str) -> bool:
        return os.path.exists(self._path(name))

    async def delete(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(name))

    async def names(self) -> AsyncIterator[tuple[str, int, int]]:
        for name, written, size in await asyncio.to_thread(self._list):
            yield name, written, size

    async def link(self, name: str, *, filename: str, seconds: int) -> str | None:  # noqa: ARG002  (files have no public address)
        return None

    async def ping(self) -> None:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            if not os.access(self.folder, os.W_OK) or os.statvfs(self.folder).f_flag & os.ST_RDONLY:
                raise UnavailableError("the folder of archives is read-only", hint="try again later")
        except OSError as error:
            raise _unavailable(error) from error

    async def clock(self) -> int:
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix=_TEMPORARY) as probe:
                return int(os.stat(probe.name).st_mtime * 1000)
        except OSError as error:
            raise _unavailable(error) from error

    async def close(self) -> None:
        """Files are not kept open."""

    def _path(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise blob_not_found(name)
        return os.path.join(self.folder, "sha256", name[:2], name[2:4], name)

    def _put(self, name: str, data: bytes) -> None:
        path = self._path(name)
        folder = os.path.dirname(path)
        temporary = None
        try:
            if _is_intact(path, data):
                # The new time protects it from garbage collection, which may delete it at this moment.
                with contextlib.suppress(FileNotFoundError):
                    os.utime(path)
                    return
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=_TEMPORARY)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
            _flush_folder(folder)
        except OSError as error:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            raise _unavailable(error) from error

    def _list(self) -> list[tuple[str, int, int]]:
        """Lists all blobs, and deletes temporary files left by a crash."""
        found: list[tuple[str, int, int]] = []
        for folder, _, files in os.walk(os.path.join(self.folder, "sha256")):
            for file in files:
                path = os.path.join(folder, file)
                with contextlib.suppress(FileNotFoundError):
                    stat = os.stat(path)
                    if _NAME.fullmatch(file):
                        found.append((file, int(stat.st_mtime * 1000), stat.st_size))
                    elif file.startswith(_TEMPORARY) and stat.st_mtime < time.time() - _ABANDONED_SECONDS:
                        os.unlink(path)
        return sorted(found)


def _is_intact(path: str, data: bytes) -> bool:
    try:
        if os.path.getsize(path) != len(data):
            return False
        with open(path, "rb") as stream:
            return stream.read() == data
    except OSError:
        return False


def _read(descriptor: int, size: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        return stream.read(size)


def _flush_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unavailable(error: OSError) -> UnavailableError:
    why = (error.strerror or str(error)).lower()
    return UnavailableError(f"cannot access the archives: {why}", hint="try again in a moment; nothing was changed")
