"""The user's folder that scripts work in. They read it as it is; what they write goes to a layer, until it is applied.

One layer serves all runs of a session, so a later run sees what an earlier one wrote, and runs at the same time work in the
same files, as programs in one folder do. The folder itself is changed by `apply` only. While a run lasts, nothing is taken out
of the layer: what was applied meanwhile goes when the last run has ended.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from metier.errors import ConflictError, NotFoundError, RefusedError
from metier.runtime.sandbox import scratch
from metier.runtime.sandbox.folder_lock import is_in_use, lock_if_abandoned, make_locked
from metier.runtime.secrets.redaction import find_secrets, redact
from metier.sources import make_private_folder, read_regular, replace_text
from metier.values import replace

from .apply import apply_changes
from .change import AppliedChanges, FileChange, FileChangeKind
from .copy import copied_state, read_copied
from .hidden import HiddenFiles
from .layer import LayerReader
from .mask import HiddenIndex
from .mount import WorkspaceMount
from .paths import folder_below, open_root, read_below, status_below
from .pictures import picture_size

__all__ = ["Workspace", "remove_abandoned_layers"]

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/proc",
    "/sys",
    "/dev",
    "/run/metier",
    "/nix/store",
    "/gnu/store",
)
_STATE, _KEPT = "state.json", "kept.json"
_LARGEST_TEXT = 1 << 20
_SEARCHED = 64 << 20
_Identity = tuple[int, int, int]
_PICTURE_BYTES = 1 << 20


class Workspace:
    """A folder, what of it is hidden, and the layer that takes the writes.

    `hide` are patterns as in a .gitignore file. Without `write`, scripts can only read. `layer` is a folder that can
    `keep` the writes after the process ends; without it they are in a temporary folder. `cache` is a folder for
    the index of hidden files, which saves the next process from reading a large tree.
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, hide: Iterable[str] = (), write: bool = True,
        layer: str | os.PathLike[str] | None = None, cache: str | os.PathLike[str] | None = None,
    ) -> None:  # fmt: skip
        self.folder = _checked_folder(os.fspath(folder))
        self.hidden = HiddenFiles(hide)
        self.write = write
        self.is_kept = layer is not None
        self._cache = os.fspath(cache) if cache is not None else ""
        self.layer = os.path.realpath(layer) if layer is not None else _temporary_layer()
        if f"{self.layer}/".startswith(f"{self.folder}/"):
            raise RefusedError(
                f"{self.folder} cannot be a workspace: it holds the folder of metier {self.layer}", rule="workspace",
                hint="choose a folder below it",
            )  # fmt: skip
        self._lock = -1
        self._index: HiddenIndex | None = None
        self._state: dict[str, Any] = {"started": 0, "starts": {}, "applied": {}, "secrets": {}}
        self._left: dict[str, _Identity] = {}
        """Files that were applied while a run lasted, as they were then. They are still in the layer."""
        self._secrets: dict[str, str] = {}
        self._guard = threading.RLock()

    @property
    def is_in_use(self) -> bool:
        """Returns True while a script runs in it."""
        return is_in_use(self.layer)

    def mount(self, *, secrets: Mapping[str, str] | None = None) -> WorkspaceMount:
        """Returns the workspace for the next run, with its hidden files as they are now.

        `secrets` are values that the run gets as variables: changes that hold one name it.
        """
        with self._guard:
            self._open()
            self._secrets |= secrets or {}
            self._settle()
            self._state["started"] = time.time_ns()
            if self.is_kept:
                self._save()
            return WorkspaceMount(
                folder=self.folder,
                layer=self.layer,
                mask=self._hidden_index().update(),
                hide=self.hidden.patterns,
                write=self.write,
            )

    def changes(self) -> tuple[FileChange, ...]:
        """Returns what the runs created, changed and deleted, by path. Those with a `problem` are never applied."""
        if self._lock < 0 and not os.path.isdir(f"{self.layer}/upper"):
            return ()
        with self._guard:
            self._open()
            self._remove_left()
            with LayerReader(self.folder, self.layer, self.hidden) as reader:
                return tuple(self._new_changes(reader))

    def diff(self, change: FileChange) -> str:
        """Returns a unified diff of a text file; empty for other files, and for texts of more than 1 MB."""
        with LayerReader(self.folder, self.layer, self.hidden) as reader:
            sides = [
                _text(reader.below, change.path) if change.kind is not FileChangeKind.CREATED else "",
                _text(reader.above, change.path) if change.kind is not FileChangeKind.DELETED else "",
            ]
        if change.is_folder or change.link or change.problem or None in sides:
            return ""
        old, new = (text.splitlines(keepends=True) for text in sides if text is not None)
        lines = difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}")
        text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
        return redact(text, self._secrets)

    def picture_size(self, change: FileChange) -> tuple[int, int] | None:
        """Returns width and height of a new or changed picture: PNG, JPEG, GIF, WebP or SVG."""
        if change.new_size is None or change.problem:
            return None
        with LayerReader(self.folder, self.layer, self.hidden) as reader, suppress(OSError):
            return picture_size(read_below(reader.above, change.path, limit=_PICTURE_BYTES))
        return None

    def apply(self, changes: Iterable[FileChange] | None = None) -> AppliedChanges:
        """Applies these changes, or all, to the folder. A file that the user changed since the run started is not touched."""
        if not self.write:
            raise RefusedError("the workspace is read-only", rule="workspace", hint="open it with write=True")
        with self._guard:
            return self._apply(changes)

    def _apply(self, changes: Iterable[FileChange] | None) -> AppliedChanges:
        self._open()
        self._settle()
        with LayerReader(self.folder, self.layer, self.hidden) as reader:
            current = {(one.path, one.kind): one for one in self._new_changes(reader)}
            wanted = current.values() if changes is None else [
                current[key] for one in changes if (key := (one.path, one.kind)) in current
            ]  # fmt: skip
            result = apply_changes(reader.below, reader.above, wanted, is_changed=self._is_changed)
            for change in result.applied:
                self._note_applied(reader, change)
            if reader.is_copy:
                self._note_copied(result.applied)
        if self.is_kept:
            self._save()
        if result.applied and not self.is_in_use and not self.changes():
            self._empty()
        return result

    def discard(self) -> None:
        """Forgets all changes. Raises ConflictError while a script runs in the workspace."""
        with self._guard:
            self._open()
            if self.is_in_use:
                raise ConflictError("a script is still running in the workspace", hint="stop it, or wait until it has ended")
            self._empty()

    def keep(self, skills: Iterable[str] = ()) -> bool:
        """Keeps the layer for a later process. Returns False if it is in a temporary folder, and cannot be kept."""
        if not self.is_kept:
            return False
        self._open()
        self._settle()
        self._save()
        data = {"version": 1, "folder": self.folder, "skills": list(skills), "created": time.time()}
        replace_text(f"{self.layer}/{_KEPT}", json.dumps(data))
        return True

    def close(self) -> None:
        """Ends the use of the layer and removes it, unless `keep` was called and changes are left."""
        if self._lock < 0:
            return
        if not os.path.exists(f"{self.layer}/{_KEPT}") or not self.changes():
            scratch.remove(self.layer)
        os.close(self._lock)
        self._lock = -1

    def _open(self) -> None:
        if self._lock >= 0:
            return
        make_private_folder(os.path.dirname(self.layer))
        if not self.is_kept:
            _clean_temporary(os.path.dirname(self.layer))
        try:
            self._lock = make_locked(self.layer)
        except FileExistsError:
            lock = lock_if_abandoned(self.layer)
            if lock is None:
                raise ConflictError(
                    f"the layer {self.layer} is in use", hint="wait until the other command has ended"
                ) from None
            self._lock = lock
            self._load()
        with suppress(FileExistsError):
            os.mkdir(f"{self.layer}/upper", os.stat(self.folder).st_mode & 0o777 | 0o700)

    def _hidden_index(self) -> HiddenIndex:
        if self._index is None:
            place = self.layer
            if self._cache:
                key = hashlib.sha256("\0".join((self.folder, *self.hidden.patterns)).encode("utf-8", "surrogateescape"))
                place = f"{self._cache}/{key.hexdigest()[:32]}"
                make_private_folder(place)
            self._index = HiddenIndex(self.folder, self.hidden, place, kept=bool(self._cache))
        return self._index

    def _settle(self) -> None:
        """Notes for each path of the layer the start of the run that wrote it first."""
        self._remove_left()
        if not self._state["started"]:
            return
        starts = self._state["starts"]
        with LayerReader(self.folder, self.layer, self.hidden) as reader:
            for change in self._new_changes(reader):
                starts.setdefault(change.path, self._state["started"])

    def _is_changed(self, path: str, status: os.stat_result) -> bool:
        """Returns True if the user changed a file after the start of the run. ctime cannot be set back."""
        if self._state["applied"].get(path) == _identity(status):
            return False
        started: int = self._state["starts"].get(path, self._state["started"])
        return status.st_ctime_ns > started

    def _note_applied(self, reader: LayerReader, change: FileChange) -> None:
        """Takes the change out of the layer, and remembers the file as ours."""
        self._state["starts"].pop(change.path, None)
        parent, _, name = change.path.rpartition("/")
        with suppress(OSError), folder_below(reader.below, parent) as folder:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            self._state["applied"][change.path] = _identity(status)
        if not reader.is_copy and not change.is_folder:
            with suppress(OSError), folder_below(reader.above, parent) as folder:
                if self.is_in_use:
                    self._left[change.path] = _identity(os.stat(name, dir_fd=folder, follow_symlinks=False))
                else:
                    os.unlink(name, dir_fd=folder)

    def _note_copied(self, changes: Iterable[FileChange]) -> None:
        """Records the files of a copy as they are now: they are no longer changes."""
        before, now = read_copied(self.layer), copied_state(f"{self.layer}/copy")
        for change in changes:
            before.pop(change.path, None)
            if change.path in now:
                before[change.path] = now[change.path]
        replace_text(f"{self.layer}/copied.json", json.dumps(before))

    def _new_changes(self, reader: LayerReader) -> Iterator[FileChange]:
        """Yields the changes that were not applied yet."""
        for change in reader.changes():
            status = status_below(reader.above, change.path) if change.path in self._left else None
            if status is None or _identity(status) != self._left[change.path]:
                yield replace(change, secrets=self._secrets_in(reader, change))

    def _secrets_in(self, reader: LayerReader, change: FileChange) -> tuple[str, ...]:
        """Returns the names of secrets in a new file. For a later process, which has no values, the names are kept."""
        if self._secrets and change.new_size is not None and not change.problem:
            found: tuple[str, ...] = ()
            with suppress(OSError):
                found = find_secrets(read_below(reader.above, change.path, limit=_SEARCHED), self._secrets)
            self._state["secrets"][change.path] = list(found)
        return tuple(self._state["secrets"].get(change.path, ()))

    def _remove_left(self) -> None:
        """Takes files out of the layer that were applied while a run lasted, unless they were written again."""
        if not self._left or self.is_in_use:
            return
        above = open_root(f"{self.layer}/upper")
        for path, identity in self._left.items():
            parent, _, name = path.rpartition("/")
            with suppress(OSError), folder_below(above, parent) as folder:
                if _identity(os.stat(name, dir_fd=folder, follow_symlinks=False)) == identity:
                    os.unlink(name, dir_fd=folder)
        os.close(above)
        self._left = {}

    def _empty(self) -> None:
        self._left = {}
        for name in ("upper", "copy"):
            scratch.remove(f"{self.layer}/{name}")
        self._state |= {"started": 0, "starts": {}, "secrets": {}}
        os.mkdir(f"{self.layer}/upper", os.stat(self.folder).st_mode & 0o777 | 0o700)

    def _save(self) -> None:
        replace_text(f"{self.layer}/{_STATE}", json.dumps({"version": 1, "folder": self.folder, **self._state}))

    def _load(self) -> None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            data = json.loads(read_regular(f"{self.layer}/{_STATE}"))
            if data["folder"] == self.folder:
                applied = {path: tuple(row) for path, row in data["applied"].items()}
                self._state = {"started": int(data["started"]), "starts": dict(data["starts"]), "applied": applied}
                self._state["secrets"] = dict(data.get("secrets", {}))


def remove_abandoned_layers(parent: str) -> None:
    """Removes the layers in a folder whose process was killed, except those that are kept."""
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        layer = f"{parent}/{name}"
        if not os.path.exists(f"{layer}/{_KEPT}") and (lock := lock_if_abandoned(layer)) is not None:
            scratch.remove(layer)
            os.close(lock)


def _checked_folder(folder: str) -> str:
    real = os.path.realpath(folder)
    if not os.path.isdir(real):
        raise NotFoundError(f"the workspace {folder!r} is not a folder", hint="check the path")
    if real == "/" or any(real == one or real.startswith(f"{one}/") for one in _SYSTEM):
        raise RefusedError(f"{real} cannot be a workspace", rule="workspace", hint="choose the folder of a project")
    return real


@cache
def _clean_temporary(folder: str) -> None:
    """Removes what killed processes left there, once in the life of this process."""
    with suppress(OSError):
        scratch.remove_abandoned(folder)


def _temporary_layer() -> str:
    # Named like the folder of a run: the next run removes it, if this process is killed.
    return f"{os.path.realpath(tempfile.gettempdir())}/metier-{os.urandom(8).hex()}"


def _identity(status: os.stat_result) -> _Identity:
    return (status.st_ino, status.st_size, status.st_ctime_ns)


def _text(root: int, path: str) -> str | None:
    """Returns the text of a file; None if it is no text, or too long."""
    with suppress(OSError, UnicodeDecodeError):
        data = read_below(root, path, limit=_LARGEST_TEXT)
        if len(data) <= _LARGEST_TEXT and b"\0" not in data:
            return data.decode()
    return None
