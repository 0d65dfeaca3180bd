"""The one folder that a script may write to: made for a run, watched, read back by name, and removed whatever is in it."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

__all__ = ["ScratchUsage", "collect", "make", "mirror", "remove", "space"]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class ScratchUsage(NamedTuple):
    size: int
    files: int


def make(folder: str) -> None:
    """Private to us; FileExistsError when somebody was there first."""
    os.mkdir(folder, 0o700)


def mirror(skill: str, script: str, data: bytes, into: str) -> None:
    """The skill once more as links, with the checked bytes of its script as the one real file.

    So the file that runs is the one that was checked, whatever is swapped in meanwhile, and it still finds its neighbours.
    """
    os.mkdir(into, 0o700)
    here, there = skill, into
    for part in (*script.split("/")[:-1], ""):
        following = part or script.rsplit("/", 1)[-1]
        for name in os.listdir(here):
            if name != following:
                os.symlink(f"{here}/{name}", f"{there}/{name}")
        if part:
            here, there = f"{here}/{part}", f"{there}/{part}"
            os.mkdir(there, 0o700)
    target = os.open(f"{into}/{script}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o500)
    with open(target, "wb") as file:
        file.write(data)


def space(root: int, limit: int) -> ScratchUsage:
    """What the folder holds; stops counting after `limit` files."""
    size = files = 0
    pending = [os.dup(root)]
    try:
        while pending and files <= limit:
            here = pending.pop()
            try:
                with os.scandir(here) as entries:
                    for entry in entries:
                        files += 1
                        if files > limit:
                            break
                        try:
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                            # A descriptor per folder that is waiting: a tree of many is over the limit anyway.
                            if entry.is_dir(follow_symlinks=False) and len(pending) < 200:
                                pending.append(os.open(entry.name, _DIRECTORY, dir_fd=here))
                        except OSError:
                            continue
            except OSError:
                continue
            finally:
                os.close(here)
    finally:
        for left in pending:
            os.close(left)
    return ScratchUsage(size, files)


def collect(root: int, paths: list[str], limit: int) -> tuple[list[tuple[str, bytes]], list[tuple[str, str]]]:
    """The named files, and for the others why not. Links are never followed: they would be read with our rights."""
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
            refused.append((path, "is a link or no file"))
        else:
            left -= len(data)
            found.append((path, data))
    return found, refused


def remove(folder: str) -> None:
    """All of it. Folders are pulled up to the top one by one, so that no depth and no length of path is too much."""
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
                return  # nothing moves any more: leave it rather than turn for ever
    finally:
        os.close(root)
    os.rmdir(folder)


def _empty(root: int, name: str, number: int) -> int:
    """Remove one entry of the root, its folders moved beside it under new names."""
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
                os.chmod(child, 0o700, dir_fd=here)  # a folder may only be moved by who may write to it
                number += 1
                os.rename(child, f".{number}.gone", src_dir_fd=here, dst_dir_fd=root)
        os.rmdir(name, dir_fd=root)
    except OSError:
        pass  # the next turn tries again
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
                raise ValueError("is no file")
            if status.st_nlink > 1:
                raise ValueError("is a hard link")
            data = file.read(limit + 1)
    finally:
        os.close(here)
    if len(data) > limit:
        raise ValueError("is too large")
    return data
