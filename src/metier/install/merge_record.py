"""The record of an update that left conflicts: what `update --keep`, `--theirs` and `--abort` need.

It lies beside the copies of the edited folders, where replaced versions are kept. It is written in the transaction of the
update and deleted in the one that resolves it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from metier.errors import ConfigError
from metier.sources import inner_file, open_regular
from metier.spec import resource_path
from metier.values import dataclass

from .lock.lock_file import Lock, LockEntry, parse_lock, render_lock
from .merge import MergeConflict, MergeReason
from .targets.scope import InstallScope
from .transaction.steps import InstallStep, Verb

__all__ = ["MergeRecord", "backup_path", "backup_steps", "read_record", "record_path", "removal_steps", "restore_steps"]

_VERSION = 1
_LARGEST = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRecord:
    old: LockEntry
    """The lock entry before the update."""
    digest: str
    """The digest of the new version."""
    conflicts: tuple[MergeConflict, ...]
    hashes: tuple[str, ...]
    """The hash of each of these files after the merge; empty for one that is not there. A changed file is resolved."""
    folders: tuple[int, ...]
    """The folders that have a backup, as places in the list of the skill's paths."""
    yours: int
    """The one of them that was edited."""

    def encoded(self) -> bytes:
        rows = [[one.path, one.reason.name, key] for one, key in zip(self.conflicts, self.hashes, strict=True)]
        body = {
            "version": _VERSION, "old": render_lock(Lock({self.old.name: self.old})), "digest": self.digest,
            "conflicts": rows, "folders": list(self.folders), "yours": self.yours,
        }  # fmt: skip
        return json.dumps(body, indent=1).encode()


def record_path(scope: InstallScope, name: str) -> str:
    return os.path.join(scope.kept, f"{name}.merge.json")


def backup_path(scope: InstallScope, name: str, place: int) -> str:
    return os.path.join(scope.kept, f"{name}.merge" + (f".{place}" if place else ""))


def backup_steps(scope: InstallScope, name: str, paths: Sequence[str], places: Sequence[int]) -> tuple[InstallStep, ...]:
    return tuple(
        InstallStep(verb=Verb.BACKUP, name=name, path=paths[place], target=backup_path(scope, name, place)) for place in places
    )


def restore_steps(scope: InstallScope, record: MergeRecord, paths: Sequence[str]) -> tuple[InstallStep, ...]:
    name = record.old.name
    return tuple(
        InstallStep(verb=Verb.RESTORE, name=name, path=paths[place], target=backup_path(scope, name, place))
        for place in record.folders
        if place in range(len(paths))
    )


def removal_steps(scope: InstallScope, record: MergeRecord) -> tuple[InstallStep, ...]:
    """Returns the steps that delete the record and its backups."""
    name = record.old.name
    paths = [record_path(scope, name), *(backup_path(scope, name, place) for place in record.folders)]
    return tuple(InstallStep(verb=Verb.REMOVE, name=name, path=path) for path in paths)


def read_record(scope: InstallScope, name: str) -> MergeRecord | None:
    """Returns the record of a skill's unfinished merge, if there is one. Raises ConfigError if it is damaged."""
    path = record_path(scope, name)
    try:
        with inner_file(path, inside=scope.inside) as (folder, file):
            stream = os.fdopen(open_regular(file, dir_fd=folder), "rb")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        with stream:
            body = json.loads(stream.read(_LARGEST))
        if body["version"] != _VERSION:
            raise ValueError("another version")
        rows = [(resource_path(path), MergeReason[reason], str(key)) for path, reason, key in body["conflicts"]]
        return MergeRecord(
            old=parse_lock(body["old"], file=path)[name],
            digest=str(body["digest"]),
            conflicts=tuple(MergeConflict(path=path, reason=reason) for path, reason, _ in rows),
            hashes=tuple(key for _, _, key in rows),
            folders=tuple(int(place) for place in body["folders"]),
            yours=int(body["yours"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError("not the record of a merge", file=path, hint="delete the file; the skill stays as it is") from error
