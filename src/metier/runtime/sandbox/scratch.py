"""The scratch folder of a run, the only one that a script may write to: created, measured, read by name, and removed."""

from __future__ import annotations

import os
import re
import stat
import sys
from typing import NamedTuple

from .folder_lock import lock_if_abandoned

__all__ = ["ScratchUsage", "collect", "is_run_folder", "measure", "measure_folder", "mirror", "remove", "remove_abandoned"]

_RUN = re.compile(r"metier-[0-9a-f]{16}")
_DEEPEST = 200

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class ScratchUsage(NamedTuple):
    size: int
    files: int


def is_run_folder(path: str) -> bool:
    """Returns True for the folder of a run, which `plan_run` has named."""
    return _RUN.fullmatch(os.path.basename(path)) is not None


def remove_abandoned(parent: str) -> None:
    """Removes the folders of runs whose supervisor was killed together with its spawner."""
    for name in os.listdir(parent):
        if _RUN.fullmatch(name) and (lock := lock_if_abandoned(f"{parent}/{name}")) is not None:
            remove(f"{parent}/{name}")
            os.close(lock)


def mirror(skill: str, script: str, data: bytes, into: str) -> None:
    """Makes a copy of the skill out of links, with the checked bytes of its script as the only real file.

    So the checked file runs, even if the original is replaced meanwhile, and it still finds the other files of the skill.
    """
    os.mkdir(into, 0o700)
    source, copy = skill, into
    for part in (*script.split("/")[:-1], "") if skill else ():
        following = part or script.rsplit("/", 1)[-1]
        for name in os.listdir(source):
            if name != following:
                os.symlink(f"{source}/{name}", f"{copy}/{name}")
        if part:
            source, copy = f"{source}/{part}", f"{copy}/{part}"
            os.mkdir(copy, 0o700)
    target = os.open(f"{into}/{script}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o500)
    with open(target, "wb") as file:
        file.write(data)


def measure(root: int, limit: int) -> ScratchUsage:
    """Returns the usage of the folder. Stops after `limit` files; folders that are too deep to follow exceed it too."""
    size = files = 0
    path: list[tuple[int, list[str]]] = []  # from the root to here: each open folder, and those in it that are still to do
    here = os.dup(root)
    try:
        while True:
            if here >= 0:
                sizes, names = _entries(here)
                path.append((here, names))
                size, files = size + sum(sizes), files + len(sizes)
                if files > limit or len(path) > _DEEPEST:
                    return ScratchUsage(size, limit + 1)
            while path and not path[-1][1]:
                os.close(path.pop()[0])
            if not path:
                return ScratchUsage(size, files)
            above, names = path[-1]
            here = _open_folder(above, names.pop())
    finally:
        for left, _ in path:
            os.close(left)


def measure_folder(path: str) -> ScratchUsage:
    """Returns the usage of a folder that no script is changing now."""
    root = os.open(path, _DIRECTORY)
    try:
        return measure(root, sys.maxsize - 1)
    finally:
        os.close(root)


def _entries(folder: int) -> tuple[list[int], list[str]]:
    """Returns the bytes of each entry, and the names of the folders."""
    sizes, names = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                sizes.append(entry.stat(follow_symlinks=False).st_blocks * 512)
                if entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
            except OSError:
                continue  # removed meanwhile
    return sizes, names


def _open_folder(above: int, name: str) -> int:
    """Returns a descriptor, or -1. A folder whose owner cannot read it could hide anything, so it is made readable."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=above)
    except PermissionError:
        pass
    except OSError:
        return -1
    place = -1
    try:
        # Not by its name: the script may have put a link in its place.
        place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        os.chmod(f"/proc/self/fd/{place}", 0o700)
        return os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
    finally:
        if place >= 0:
            os.close(place)


def collect(root: int, paths: list[str], limit: int) -> tuple[list[tuple[str, bytes]], list[tuple[str, str]]]:
    """Returns the named files, and the reasons for missing ones. Links are not followed: they would be read with our rights."""
    found: list[tuple[str, bytes]] = []
    refused: list[tuple[str, str]] = []
    left = limit
    for path in paths:
        try:
            data = _read(root, path, left)
        except FileNotFoundError:
            refused.append((path, "was not produced"))
        except ValueError as error:
            refused.append((path, str(error)))
        except OSError:
            refused.append((path, "is not a regular file"))
        else:
            left -= len(data)
            found.append((path, data))
    return found, refused


def remove(folder: str) -> None:
    """Removes everything. Folders are moved to the top one by one, so that no depth and no path length is too large."""
    try:
        root = os.open(folder, _DIRECTORY)
    except OSError:
        return
    try:
        number = 0
        while names := os.listdir(root):
            for name in names:
                number = _empty(root, name, number)
            if set(os.listdir(root)) == set(names):
                return  # no progress: give up rather than loop
    finally:
        os.close(root)
    os.rmdir(folder)


def _empty(root: int, name: str, number: int) -> int:
    """Removes one entry of the root after moving its folders to the root under new names."""
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=root, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=root)
            return number
        os.chmod(name, 0o700, dir_fd=root)
        here = os.open(name, _DIRECTORY, dir_fd=root)
    except OSError:
        return number
    try:
        for child in os.listdir(here):
            try:
                os.unlink(child, dir_fd=here)
            except (IsADirectoryError, PermissionError):
                os.chmod(child, 0o700, dir_fd=here)  # moving a folder needs write permission on it
                number += 1
                os.rename(child, f".{number}.gone", src_dir_fd=here, dst_dir_fd=root)
        os.rmdir(name, dir_fd=root)
    except OSError:
        pass  # the next pass tries again
    finally:
        os.close(here)
    return number


def _read(root: int, path: str, limit: int) -> bytes:
    here = os.dup(root)
    try:
        *folders, name = path.split("/")
        for part in folders:
            below = os.open(part, _DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        with open(os.open(name, _FILE, dir_fd=here), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("is not a regular file")
            if status.st_nlink > 1:
                raise ValueError("is a hard link")
            data = file.read(limit + 1)
    finally:
        os.close(here)
    if len(data) > limit:
        raise ValueError("is too large")
    return data
