"""Atomic, private writes of files, and a lock for read-modify-write. The one way in which metier writes a file."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator

from .project_paths import inner_file, inner_folder

__all__ = ["create_private_file", "file_lock", "make_private_folder", "replace_bytes", "replace_in_folder", "replace_text"]

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_text(file: str, text: str, *, inside: str | None = None) -> None:
    replace_bytes(file, text.encode(), inside=inside)


def replace_bytes(file: str, data: bytes, *, mode: int = 0o600, inside: str | None = None) -> None:
    """Writes a temporary file and renames it over `file`, so that a reader sees the old bytes or the new ones.

    An existing file keeps its permissions; a new one gets `mode`, which is private by default. A link is followed, because
    many users keep their configuration in a dotfiles repository; with `inside`, only within that folder, which is a project.
    """
    if inside is None:
        make_private_folder(os.path.dirname(os.path.realpath(file)))
    with inner_file(file, inside=inside, create=True) as (folder, name):
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                # Above all a device that a link leads to: a rename would put a file in its place.
                raise OSError(errno.EINVAL, "not a regular file", file)
            mode = stat.S_IMODE(status.st_mode)
        try:
            replace_in_folder(folder, name, data, mode=mode)
        except OSError as error:
            # Not the temporary name, which the user has never seen.
            error.filename, error.filename2 = file, None
            raise


def replace_in_folder(folder: int, name: str, data: bytes, *, mode: int, is_new: bool = False) -> None:
    """As `replace_bytes`, in a folder that is open. With `is_new`, raises FileExistsError instead of replacing a file."""
    descriptor, temporary = create_private_file("", f".{name[:200]}.", dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        if is_new:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(temporary, dir_fd=folder)
        else:
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def make_private_folder(folder: str) -> None:
    """Makes a folder that only its owner can enter. Missing parents are as private, which `os.makedirs` does not do."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent and parent != folder:
        make_private_folder(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def create_private_file(folder: str, prefix: str, *, dir_fd: int | None = None) -> tuple[int, str]:
    """Creates a file that only its owner can read; returns a descriptor for writing and the path.

    `tempfile` does the same but takes 3 ms to import.
    """
    while True:
        path = os.path.join(folder, prefix + os.urandom(8).hex())
        with contextlib.suppress(FileExistsError):
            return os.open(path, _NEW, 0o600, dir_fd=dir_fd), path


@contextlib.contextmanager
def file_lock(file: str, *, inside: str | None = None) -> Iterator[None]:
    """Lets one process at a time read and write `file`.

    The lock is a file next to it, which is not deleted. In a project, `inside`, it is the folder of the file, where nothing
    is left behind.
    """
    if inside is not None:
        with inner_folder(os.path.dirname(file), inside=inside, create=True) as folder:
            with contextlib.suppress(OSError):
                # Some network file systems cannot lock folders; there this is not guarded.
                fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        return
    make_private_folder(os.path.dirname(file) or ".")
    descriptor = os.open(f"{file}.lock", os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
