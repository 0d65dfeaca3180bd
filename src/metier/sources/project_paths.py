"""Opens folders so that no link leads out of a root, even if the link is created between a check and a use.

A cloned project may contain links in any direction. Whatever is written in a project, or removed from it, goes through a
descriptor that was opened here, one name after the other with O_NOFOLLOW. A link that stays inside the root is followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from metier.errors import RefusedError

__all__ = ["inner_file", "inner_folder", "open_folder"]

_MAX_LINKS = 16
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_folder(path: str, *, inside: str | None = None, create: bool = False) -> int:
    """Returns a descriptor of the folder; the caller closes it. `create` makes it and its parents if they are missing.

    Without `inside`, links are followed as usual. With it, raises RefusedError if a link leads out of that folder.
    """
    if inside is not None:
        return _walk(inside, path, create=create)[0]
    if create:
        os.makedirs(path, exist_ok=True)
    return os.open(path, _FOLDER)


@contextlib.contextmanager
def inner_folder(path: str, *, inside: str | None = None, create: bool = False) -> Iterator[int]:
    """As `open_folder`, and closes the descriptor."""
    descriptor = open_folder(path, inside=inside, create=create)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def inner_file(path: str, *, inside: str | None = None, create: bool = False) -> Iterator[tuple[int, str]]:
    """Yields a descriptor of the folder that the file is really in, and its name there, which is no link.

    The file need not exist; `create` makes missing folders.
    """
    if inside is None:
        real = os.path.realpath(path)
        descriptor, name = open_folder(os.path.dirname(real), create=create), os.path.basename(real)
    else:
        descriptor, name = _walk(inside, path, create=create, file=True)
    try:
        yield descriptor, name
    finally:
        os.close(descriptor)


def _walk(root: str, path: str, *, create: bool, file: bool = False) -> tuple[int, str]:
    """Returns a descriptor of the folder; for a `file`, of its folder, and its name there."""
    top = os.path.realpath(root)
    pending = _names(os.path.relpath(path, root))
    # Descriptors of the folders from the root down to the current one, so that `..` in a link needs no look at the disk.
    opened, links = [os.open(top, _FOLDER | os.O_NOFOLLOW)], 0
    try:
        while pending:
            name = pending.pop(0)
            if name == "..":
                if len(opened) == 1:
                    raise _refused(path, root)
                os.close(opened.pop())
                continue
            target = _link_target(name, opened[-1])
            if target is not None:
                links += 1
                if links > _MAX_LINKS or (target.startswith("/") and not f"{target}/".startswith(f"{top}/")):
                    raise _refused(path, root)
                if target.startswith("/"):
                    target = target[len(top) :]
                    while len(opened) > 1:
                        os.close(opened.pop())
                pending = _names(target) + pending
                continue
            if file and not pending:
                return opened.pop(), name
            opened.append(_open_below(name, opened[-1], create=create))
        if file:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return opened.pop(), ""
    except OSError as error:
        if error.errno:
            # The calls above know the last name only.
            error.filename = path
        raise
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _open_below(name: str, folder: int, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=folder)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _link_target(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        # Missing, or no link.
        return None


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _refused(path: str, root: str) -> RefusedError:
    return RefusedError(f"{path} is a link out of the project {root}", rule="link-leaves-project",
                        hint="replace the link by a folder or file of the project")  # fmt: skip
