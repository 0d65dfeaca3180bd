"""The files of a skill on disk, read so that no link leads out of the folder, even if it is created during the read.

Between a check of a path and its open, an attacker can create a link. So every read opens one directory after the other with
O_NOFOLLOW, from the skill's folder down. A link that stays inside the skill is resolved by starting again from the top, a few
times at most.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from metier.errors import NotFoundError, RefusedError
from metier.generated_names import is_generated
from metier.spec import FileEntry, Link, resource_path, too_large_error

__all__ = ["MAX_FILES", "DiskFiles"]

MAX_FILES = 100_000
"""A listing ends there, and a skill with more files and links cannot be approved."""
_MAX_LINKS = 8
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK, because opening a FIFO without a writer would hang.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class DiskFiles:
    """The `Files` of one folder. The path to the folder may contain links; no link below it may leave it."""

    __slots__ = ("folder",)

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.path.realpath(folder)

    def __repr__(self) -> str:
        return f"DiskFiles({self.folder!r})"

    def read(self, path: str, *, limit: int) -> bytes:
        path = resource_path(path)
        descriptor = self.open(path)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise RefusedError(f"{path!r} is not a file", rule="not-a-file", hint="name a file inside the skill")
            if status.st_size > limit:
                raise too_large_error(path, limit)
            data = _read(descriptor, limit)
        finally:
            os.close(descriptor)
        if len(data) > limit:
            # It grew during the read.
            raise too_large_error(path, limit)
        return data

    def list(self) -> Iterator[FileEntry]:
        return iter(sorted(islice(self._entries(), MAX_FILES), key=lambda entry: entry.path))

    @property
    def links(self) -> tuple[Link, ...]:
        found = []
        for folder, folders, names in os.walk(self.folder):
            for name in (*folders, *names):
                place = os.path.join(folder, name)
                if os.path.islink(place):
                    found.append(Link(os.path.relpath(place, self.folder), os.readlink(place)))
                    if len(found) == MAX_FILES:
                        return tuple(found)
        return tuple(found)

    def open(self, path: str) -> int:
        """Returns a descriptor of a file inside the folder; the caller closes it."""
        for _ in range(_MAX_LINKS):
            opened = self._walk(path)
            if isinstance(opened, int):
                return opened
            path = opened
        raise RefusedError(
            f"{path!r} goes through too many links", rule="link-leaves-skill", hint="copy the file into the skill"
        )

    def _walk(self, path: str) -> int | str:
        """Returns a descriptor of the file, or the target of a link inside the skill as the next path to try."""
        here = self._root()
        try:
            parts = path.split("/")
            for depth, part in enumerate(parts):
                last = depth == len(parts) - 1
                try:
                    below = os.open(part, _FILE if last else _DIRECTORY, dir_fd=here)
                except FileNotFoundError:
                    raise NotFoundError(
                        f"the skill has no file {path!r}", hint="see its files with `metier skill show NAME --files`"
                    ) from None
                except PermissionError:
                    raise RefusedError(f"{path!r} cannot be read: permission denied", rule="unreadable",
                                  hint="check its permissions") from None  # fmt: skip
                except OSError:
                    return self._target(path, parts[:depth], part, parts[depth + 1 :], here)
                if last:
                    return below
                os.close(here)
                here = below
        finally:
            os.close(here)
        raise AssertionError("a checked path has at least one part")

    def _target(self, path: str, above: Sequence[str], part: str, below: Sequence[str], here: int) -> str:
        """Returns the target of the link `part` as a path inside the skill. Raises RefusedError if it is outside."""
        try:
            target = os.readlink(part, dir_fd=here)
        except OSError:
            # Not a link: a device, a socket, or a file where a folder is expected.
            raise RefusedError(f"{path!r} is not a file", rule="not-a-file", hint="name a file inside the skill") from None
        if target.startswith(f"{self.folder}/"):
            above, target = (), target[len(self.folder) + 1 :]
        joined = os.path.normpath("/".join([*above, target, *below])) if not target.startswith("/") else target
        if joined.startswith(("/", "../")) or joined in ("..", "."):
            raise RefusedError(
                f"{path!r} is a link out of the skill", rule="link-leaves-skill", hint="copy the file into the skill"
            )
        return resource_path(joined)

    def _root(self) -> int:
        try:
            return os.open(self.folder, _DIRECTORY)
        except FileNotFoundError:
            raise NotFoundError(f"the folder {self.folder!r} does not exist", hint="see `metier skill list`") from None
        except OSError as error:
            why = (error.strerror or "error").lower()
            raise RefusedError(
                f"{self.folder!r} cannot be opened: {why}", rule="unreadable", hint="use the folder of a skill"
            ) from None

    def _entries(self) -> Iterator[FileEntry]:
        # Folders that tools write come last, so that the limit cuts these and not the author's files.
        pending: deque[tuple[str, str]] = deque([(self.folder, "")])
        while pending:
            folder, prefix = pending.pop()
            try:
                with os.scandir(folder) as children:
                    for child in children:
                        if child.is_dir(follow_symlinks=False):
                            below = (child.path, f"{prefix}{child.name}/")
                            (pending.appendleft if is_generated(below[1]) else pending.append)(below)
                        elif child.is_file(follow_symlinks=False):
                            status = child.stat(follow_symlinks=False)
                            yield FileEntry(
                                path=prefix + child.name, size=status.st_size, executable=bool(status.st_mode & 0o111)
                            )
            except OSError:
                # A folder that was removed or is not readable has no files.
                continue


def _read(descriptor: int, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit + 1
    while left > 0:
        part = os.read(descriptor, min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
