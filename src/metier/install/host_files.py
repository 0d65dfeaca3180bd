"""Changes of configuration files that belong to other agents: planned first, then written with a backup."""

from __future__ import annotations

import os
import stat
from datetime import datetime

from metier.errors import ConfigError, ConflictError
from metier.sources import file_lock, inner_file, read_regular, replace_bytes
from metier.values import dataclass

__all__ = ["HostFileChange", "apply_change", "read_host_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFileChange:
    """A configuration file of another agent, before and after a change of ours."""

    file: str
    before: str | None
    """None if the file does not exist."""
    after: str | None
    """None if the file is removed."""
    inside: str | None = None
    """The project of the file, which no link may leave; None for the user's own file."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


def apply_change(change: HostFileChange, *, lock: str, now: datetime | None = None) -> str | None:
    """Writes the file. With the time `now`, keeps a backup beside it and returns its path.

    `lock` is a file outside the agent's folder. Raises ConflictError if the file has changed since the plan.
    """
    if not change.is_needed:
        return None
    with file_lock(lock):
        if read_host_file(change.file, change.inside) != change.before:
            raise ConflictError(f"{change.file} has changed in the meantime", hint="run the command again")
        backup = _backup(change, now) if now else None
        if change.after is None:
            with inner_file(change.file, inside=change.inside) as (folder, name):
                os.unlink(name, dir_fd=folder)
        else:
            replace_bytes(change.file, change.after.encode(), mode=0o644, inside=change.inside)
    return backup


def _backup(change: HostFileChange, now: datetime) -> str | None:
    if change.before is None:
        return None
    backup = f"{change.file}.{now:%Y%m%d-%H%M%S}.bak"
    # The file may hold secrets, so the backup has the same permissions.
    mode = stat.S_IMODE(os.stat(change.file).st_mode)
    replace_bytes(backup, change.before.encode(), mode=mode, inside=change.inside)
    return backup


def read_host_file(file: str, inside: str | None) -> str | None:
    try:
        with inner_file(file, inside=inside) as (folder, name):
            return read_regular(name, dir_fd=folder).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8", file=file, hint="fix it by hand first; nothing was changed") from error
