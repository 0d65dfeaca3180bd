"""The cache of built environments: the packages of one lock for one platform, as files that are only read.

    <key>/tree/        the packages: modules for Python, `node_modules` for Node
    <key>/record.json  the lock's digest, and the packages with their licences
    <key>/files.json   size and hash of every file
    <key>/stamp        a digest over inodes, sizes and times of all files, to check them without reading them
    <key>/used         its time is that of the last use

The key is a digest of the lock's and the platform. An environment is built under a lock that other processes wait for, in a
folder that gets its name when it is complete. Runs see `tree` read-only, and nothing else of the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sysconfig
import time
from collections.abc import Callable, Iterator
from shutil import rmtree
from typing import Any

from metier.errors import RefusedError
from metier.install.lock.locked_packages import LockedPackages
from metier.sources import file_lock, make_private_folder, read_regular, replace_text
from metier.values import dataclass

__all__ = ["BuiltPackage", "EnvironmentCache", "EnvironmentsSize", "PackageDownloads", "PackageEnvironment"]

_FORMAT = 1
_KEY = re.compile(r"[0-9a-f]{40}")
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPackage:
    name: str
    version: str
    license: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageEnvironment:
    """A built environment."""

    key: str
    tree: str
    """The folder that a run gets."""
    python: str
    """The Python that built it; empty for Node."""
    is_python_same: bool = True
    """False if that Python was removed or replaced since."""
    packages: tuple[BuiltPackage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentsSize:
    environments: int
    bytes: int


Build = Callable[[str, str], tuple[str, tuple[BuiltPackage, ...]]]
"""Fills an empty folder, which will be at the second path later. Returns the Python, and the packages."""


@dataclass(frozen=True, slots=True)
class EnvironmentCache:
    folder: str

    def key(self, locked: LockedPackages) -> str:
        text = json.dumps([_FORMAT, locked.digest, sysconfig.get_platform()])
        return hashlib.sha256(text.encode()).hexdigest()[:40]

    def find(self, locked: LockedPackages, *, skill: str = "") -> PackageEnvironment | None:
        """Returns the environment if it is built. Raises RefusedError if its files are not those that were built.

        `skill` is the name for the hint of that error.
        """
        folder = self._folder(self.key(locked))
        record = self._record(folder, locked)
        if record is None:
            return None
        if _stamp(f"{folder}/tree") != _read_stamp(folder):
            # Restored from a backup, or changed: only the hashes can tell.
            if problems := _differences(folder):
                raise RefusedError(
                    f"the prepared packages were changed: {problems[0]}", rule="packages-changed",
                    hint=f"`metier skill prepare {skill}` builds them again; `metier skill verify` lists every difference",
                )  # fmt: skip
            _write_stamp(folder)
        return _environment(folder, record)

    def verify(self, locked: LockedPackages) -> tuple[str, ...] | None:
        """Returns every difference from what was built, by hashes; None if it is not built."""
        folder = self._folder(self.key(locked))
        record = self._record(folder, locked)
        return None if record is None else _differences(folder)

    def build(self, locked: LockedPackages, build: Build) -> PackageEnvironment:
        """Returns the environment, built now if it is missing or was changed. A second process waits for the first."""
        key = self.key(locked)
        folder = self._folder(key)
        make_private_folder(self.folder)
        with file_lock(folder):
            try:
                if found := self.find(locked):
                    return found
            except RefusedError:
                pass
            temporary = os.path.join(self.folder, f".{key}-{os.urandom(6).hex()}")
            tree = f"{temporary}/tree"
            os.makedirs(tree, 0o700)
            try:
                python, packages = build(tree, f"{folder}/tree")
                files = _protect(tree)
                record = {
                    "format": _FORMAT, "lock": locked.digest, "python": python, "identity": _identity(python),
                    "packages": [[one.name, one.version, one.license] for one in packages],
                }  # fmt: skip
                replace_text(f"{temporary}/files.json", json.dumps(files))
                replace_text(f"{temporary}/record.json", json.dumps(record))
                replace_text(f"{temporary}/used", "")
                _write_stamp(temporary)
                _remove(folder)
                os.rename(temporary, folder)
            finally:
                _remove(temporary)
            return _environment(folder, record)

    def size(self) -> EnvironmentsSize:
        keys = [*self._keys()]
        return EnvironmentsSize(environments=len(keys), bytes=sum(_size(self._folder(key)) for key in keys))

    def clean(self, *, unused_for: float = 0.0) -> EnvironmentsSize:
        """Deletes environments that were not used for so many seconds (zero for all). Returns the deleted size."""
        before, gone, freed = time.time() - unused_for, 0, 0
        for key in [*self._keys()]:
            folder = self._folder(key)
            if unused_for and _time(f"{folder}/used") >= before:
                continue
            with file_lock(folder):
                size = _size(folder)
                hidden = os.path.join(self.folder, f".{key}-{os.urandom(6).hex()}")
                try:
                    os.rename(folder, hidden)
                except OSError:
                    # Another process deleted it.
                    continue
                _remove(hidden)
                gone, freed = gone + 1, freed + size
        for name in _names(self.folder):
            if name.startswith(".") and time.time() - _time(os.path.join(self.folder, name)) > _STALE_SECONDS:
                _remove(os.path.join(self.folder, name))
        return EnvironmentsSize(environments=gone, bytes=freed)

    def _keys(self) -> Iterator[str]:
        return (name for name in _names(self.folder) if _KEY.fullmatch(name))

    def _folder(self, key: str) -> str:
        return os.path.join(self.folder, key)

    @staticmethod
    def _record(folder: str, locked: LockedPackages) -> dict[str, Any] | None:
        """Returns the record; None if nothing is built, or by another version of metier."""
        # Any: JSON that was written here.
        try:
            record = json.loads(read_regular(f"{folder}/record.json"))
            is_ours = record["format"] == _FORMAT and record["lock"] == locked.digest
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return record if is_ours else None


@dataclass(frozen=True, slots=True)
class PackageDownloads:
    """The downloads of uv and npm. Without them, an environment that was deleted is fetched again."""

    folder: str

    def size(self) -> int:
        return _size(self.folder)

    def clean(self) -> int:
        """Deletes them, and returns their size."""
        freed = self.size()
        _remove(self.folder)
        return freed


def _environment(folder: str, record: dict[str, Any]) -> PackageEnvironment:
    try:
        os.utime(f"{folder}/used")
    except OSError:
        pass
    packages = tuple(BuiltPackage(name=name, version=version, license=license) for name, version, license in record["packages"])  # noqa: A001
    python = record["python"]
    return PackageEnvironment(
        key=os.path.basename(folder), tree=f"{folder}/tree", python=python, packages=packages,
        is_python_same=_identity(python) == record.get("identity"),
    )  # fmt: skip


def _identity(program: str) -> str:
    try:
        status = os.stat(program)
    except OSError:
        return ""
    return f"{os.path.realpath(program)} {status.st_size} {status.st_mtime_ns}" if program else ""


def _protect(tree: str) -> dict[str, list[Any]]:
    """Makes everything read-only. Returns the size and hash of every file. Links and devices are refused."""
    found: dict[str, list[Any]] = {}
    for here, folders, files in os.walk(tree, topdown=False):
        for name in files:
            path = os.path.join(here, name)
            status = os.lstat(path)
            if not stat.S_ISREG(status.st_mode):
                raise RefusedError(
                    f"the packages contain {os.path.relpath(path, tree)}, which is not a file", rule="packages",
                    hint="report it to the package's author",
                )  # fmt: skip
            os.chmod(path, 0o555 if status.st_mode & 0o111 else 0o444)
            found[os.path.relpath(path, tree)] = [status.st_size, _hash(path)]
        for name in folders:
            if os.path.islink(os.path.join(here, name)):
                raise RefusedError(f"the packages contain the link {name}", rule="packages", hint="report it to its author")
        os.chmod(here, 0o555)  # noqa: S103  private above
    return found


def _stamp(tree: str) -> str:
    """Returns a sum over all that changes when a file is written, without reading one. ctime cannot be set back.

    A name is not part of it: a rename changes its folder. It finds changes; what they are, the hashes say.
    """
    total, pending = 0, [tree]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += hash((status.st_ino, status.st_size, status.st_ctime_ns))
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            total += 1
    return f"{total:x}"


def _differences(folder: str) -> tuple[str, ...]:
    tree, found = f"{folder}/tree", dict[str, str]()
    try:
        files: dict[str, list[Any]] = json.loads(read_regular(f"{folder}/files.json"))
    except (OSError, ValueError):
        return ("D files.json",)
    for here, folders, names in os.walk(tree):
        for name in (*names, *(each for each in folders if os.path.islink(os.path.join(here, each)))):
            path = os.path.join(here, name)
            relative = os.path.relpath(path, tree)
            if relative not in files or os.path.islink(path):
                found[relative] = "A"
            elif [os.lstat(path).st_size, _hash(path)] != files[relative]:
                found[relative] = "M"
            else:
                found[relative] = ""
    found.update({path: "D" for path in files if path not in found})
    return tuple(f"{sign} {path}" for path, sign in sorted(found.items()) if sign)


def _hash(path: str) -> str:
    digest = hashlib.sha256()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _read_stamp(folder: str) -> str:
    try:
        return read_regular(f"{folder}/stamp").decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _write_stamp(folder: str) -> None:
    try:
        replace_text(f"{folder}/stamp", _stamp(f"{folder}/tree"))
    except OSError:
        # A cache that cannot be written is checked by its hashes every time.
        pass


def _remove(folder: str) -> None:
    if not os.path.lexists(folder):
        return
    for here, _, _ in os.walk(folder):
        # Its folders are read-only.
        os.chmod(here, 0o700)
    rmtree(folder, ignore_errors=True)


def _size(folder: str) -> int:
    return sum(os.lstat(os.path.join(here, name)).st_size for here, _, names in os.walk(folder) for name in names)


def _time(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
