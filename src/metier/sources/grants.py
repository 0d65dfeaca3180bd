"""What the settings of single projects may use, beyond what trust in the project covers.

A project's configuration may ask that an environment variable is sent to a host, or that another registry is used. Each is
allowed by the user for one project, one name and one host, and kept in a file of its own beside the list of trusted folders.
"""

from __future__ import annotations

import json
import os

from metier.errors import ConfigError, UsageError
from metier.values import dataclass

from .atomic_write import file_lock, replace_text
from .regular_file import read_regular

__all__ = ["Grant", "Grants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    folder: str
    """The project."""
    name: str
    """An environment variable, or a setting such as `skills.registry`."""
    host: str
    """With its port, if that is not the usual one; with `http://` before it if it is not encrypted."""

    @property
    def text(self) -> str:
        """As it is typed: `NAME@HOST`."""
        return f"{self.name}@{self.host}"

    @classmethod
    def parse(cls, folder: str, text: str) -> Grant:
        name, at, host = text.partition("@")
        if not (name and at and host) or any(letter.isspace() for letter in text):
            raise UsageError(f"{text!r} is not NAME@HOST", hint="write a variable and a host: `metier trust --allow NAME@HOST`")
        return cls(folder=os.path.realpath(folder), name=name, host=host.lower())


class Grants:
    def __init__(self, file: str) -> None:
        self.file = file

    def __contains__(self, grant: Grant) -> bool:
        return grant in self._read()

    def of(self, folder: str) -> tuple[Grant, ...]:
        real = os.path.realpath(folder)
        return tuple(grant for grant in self._read() if grant.folder == real)

    def add(self, grant: Grant) -> bool:
        """Returns False if it is allowed already."""
        with file_lock(self.file):
            known = self._read()
            if grant in known:
                return False
            self._write((*known, grant))
        return True

    def remove(self, *grants: Grant) -> bool:
        """Returns False if none of them was allowed."""
        if not os.path.lexists(self.file):
            return False
        with file_lock(self.file):
            known = self._read()
            kept = tuple(grant for grant in known if grant not in grants)
            if kept == known:
                return False
            self._write(kept)
        return True

    def _read(self) -> tuple[Grant, ...]:
        try:
            rows = json.loads(read_regular(self.file))["grants"]
            return tuple(Grant(folder=row["folder"], name=row["name"], host=row["host"]) for row in rows)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(
                f"invalid list of grants: {error}", file=self.file,
                hint="delete the file, then run `metier trust --allow NAME@HOST` where a command asks for it",
            ) from error  # fmt: skip

    def _write(self, grants: tuple[Grant, ...]) -> None:
        rows = [{"folder": one.folder, "name": one.name, "host": one.host} for one in grants]
        rows.sort(key=lambda row: tuple(row.values()))
        replace_text(self.file, json.dumps({"version": 1, "grants": rows}, indent=2) + "\n")
