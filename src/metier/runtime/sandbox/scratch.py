"""The scratch folder of a run, the only one that a script may write to: created, measured, read by name, and removed."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

__all__ = ["ScratchUsage", "collect", "make", "measure", "mirror", "remove"]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class ScratchUsage(NamedTuple):
    size: int
    files: int


def make(folder: str) -> None:
    """Creates a private folder. Raises FileExistsError if the path exists."""
    os.mkdir(folder, 0o700)


def mirror(skill: str, script: str, data: bytes, into: str) -> None:
    """Makes a copy of the skill out of links, with the checked bytes of its script as the only real file.

    So the checked file runs, even if the original is replaced meanwhile, and it still finds the other files of the skill.
    """
    os.mkdir(into, 0o700)
    source, copy = skill, into
    for part in (*script.split("/")[:-1], ""):
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
    """Returns the usage of the folder. Stops counting after `limit` files."""
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
                            # Each pending folder needs a descriptor; a tree with more of them exceeds the limit anyway.
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
