"""The cache of fetched skills, by content, shared by all projects.

    objects/ab/cdef….zip   a skill under the digest of its contents
    known/….json           what a ref or a commit resolved to, for --offline and to save requests

An object is checked against its digest on every read, and a damaged one counts as missing. A folder that cannot be written is
no error. Several processes can use it at once: files are complete when they get their name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from metier.archive import REPOSITORY_LIMITS, Contents, digest
from metier.errors import MetierError
from metier.sources import create_private_file, file_lock, make_private_folder, open_regular, read_regular
from metier.values import dataclass

__all__ = ["CacheSize", "SkillCache"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = 1
_STALE_SECONDS = 3600
"""A temporary file of this age belongs to a process that no longer runs."""
_LARGEST_OBJECT = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSize:
    skills: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SkillCache:
    folder: str

    def put(self, contents: Contents, name: str | None = None) -> str:
        """Stores a skill and returns its digest. `name` is the digest if the caller has it."""
        key = name or digest(contents)
        file = self._file(key)
        if not os.path.exists(file):
            from metier.archive import pack

            # Not compressed: reads are frequent, and skills are small.
            data = pack(contents, level=0, times=True)
            try:
                _store(file, data)
            except OSError:
                pass
        return key

    def get(self, key: str) -> Contents | None:
        """Returns the skill of this digest; None if it is missing or damaged."""
        # Imported where they are used: what was scanned is remembered here too, and that packs and unpacks nothing.
        from metier.archive import unpack

        file = self._file(key)
        try:
            if os.path.getsize(file) > _LARGEST_OBJECT:
                return None
            contents = unpack(read_regular(file), limits=REPOSITORY_LIMITS)
        except (OSError, MetierError):
            contents = None
        if contents is not None and digest(contents) == key:
            _touch(file)
            return contents
        _remove(file)
        return None

    def has(self, key: str) -> bool:
        return os.path.exists(self._file(key))

    def remember(self, key: str, record: Mapping[str, Any]) -> None:
        """Stores a JSON object under a key, merged into the one that is there."""
        file = self._note(key)
        try:
            with file_lock(file):
                merged = {**(self._read(file, key) or {}), **record}
                _store(file, json.dumps({"version": _VERSION, "key": key, "record": merged}, sort_keys=True).encode())
        except OSError:
            pass

    def recall(self, key: str) -> dict[str, Any] | None:
        return self._read(self._note(key), key)

    def verify(self) -> tuple[str, ...]:
        """Checks every object, deletes damaged ones, and returns their digests."""
        return tuple(key for key in [key for key, _ in self._objects()] if self.get(key) is None)

    def size(self) -> CacheSize:
        sizes = [os.path.getsize(file) for _, file in self._objects() if os.path.exists(file)]
        return CacheSize(skills=len(sizes), bytes=sum(sizes))

    def clean(self, *, unused_for: float = 0.0) -> CacheSize:
        """Deletes what was not used for so many seconds (zero for all) and leftovers. Returns the deleted size."""
        before, gone, freed = time.time() - unused_for, 0, 0
        for _, file in [*self._objects()]:
            try:
                status = os.stat(file)
                if not unused_for or status.st_mtime < before:
                    os.unlink(file)
                    gone, freed = gone + 1, freed + status.st_size
            except OSError:
                # Another process deleted it.
                continue
        for file in [*self._others()]:
            try:
                age = time.time() - os.stat(file).st_mtime
                is_temporary = os.path.basename(file).startswith(".")
                if age > _STALE_SECONDS if is_temporary else (not unused_for or age > unused_for):
                    os.unlink(file)
            except OSError:
                continue
        return CacheSize(skills=gone, bytes=freed)

    def _objects(self) -> Iterator[tuple[str, str]]:
        top = os.path.join(self.folder, "objects")
        for prefix in _names(top):
            for name in _names(os.path.join(top, prefix)):
                if _DIGEST.fullmatch(key := f"sha256:{prefix}{name.removesuffix('.zip')}"):
                    yield key, os.path.join(top, prefix, name)

    def _others(self) -> Iterator[str]:
        for folder in ("known", *(f"objects/{prefix}" for prefix in _names(os.path.join(self.folder, "objects")))):
            for name in _names(os.path.join(self.folder, folder)):
                if folder == "known" or name.startswith("."):
                    yield os.path.join(self.folder, folder, name)

    def _file(self, key: str) -> str:
        if not _DIGEST.fullmatch(key):
            raise ValueError(f"{key!r} is not a digest")
        return os.path.join(self.folder, "objects", key[7:9], f"{key[9:]}.zip")

    def _note(self, key: str) -> str:
        return os.path.join(self.folder, "known", f"{hashlib.sha256(key.encode()).hexdigest()}.json")

    @staticmethod
    def _read(file: str, key: str) -> dict[str, Any] | None:
        try:
            with os.fdopen(open_regular(file), "rb") as stream:
                value = json.loads(stream.read(16 << 20))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or value.get("version") != _VERSION or value.get("key") != key:
            return None
        record = value.get("record")
        return record if isinstance(record, dict) else None


def _store(file: str, data: bytes) -> None:
    """Writes a file atomically. It is not flushed: damage by a power cut is found when it is read."""
    folder = os.path.dirname(file)
    make_private_folder(folder)
    descriptor, temporary = create_private_file(folder, ".")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)
    except BaseException:
        _remove(temporary)
        raise


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _touch(file: str) -> None:
    try:
        os.utime(file)
    except OSError:
        pass


def _remove(file: str) -> None:
    try:
        os.unlink(file)
    except OSError:
        pass
