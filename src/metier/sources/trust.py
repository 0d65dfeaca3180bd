"""The list of project folders that the user trusts.

Trust covers a folder and everything below it. The list is in a file of its own that only metier writes, under a lock and
atomically.
"""

from __future__ import annotations

import json
import os

from metier.errors import ConfigError

from .atomic_write import file_lock, replace_text
from .regular_file import read_regular

__all__ = ["Trust"]


class Trust:
    def __init__(self, file: str) -> None:
        self.file = file

    @property
    def folders(self) -> tuple[str, ...]:
        try:
            folders = json.loads(read_regular(self.file))["folders"]
            if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
                raise ValueError("folders is not a list of strings")
        except FileNotFoundError:
            return ()
        except NotADirectoryError:
            # Its folder is a file: the mistake is metier's home, not the list.
            raise
        except (OSError, ValueError, KeyError, TypeError) as error:
            # A broken file must read neither as "nothing is trusted" nor as "everything is".
            raise ConfigError(
                f"invalid list of trusted folders: {error}",
                file=self.file,
                hint="delete the file, then run `metier trust` in each folder",
            ) from error
        return tuple(folders)

    def covers(self, folder: str) -> bool:
        real = os.path.realpath(folder)
        return any(real == trusted or real.startswith(trusted.rstrip("/") + "/") for trusted in self.folders)

    def add(self, folder: str) -> bool:
        """Returns False if the folder is already in the list."""
        real = os.path.realpath(folder)
        with file_lock(self.file):
            if real in self.folders:
                return False
            self._write((*self.folders, real))
        return True

    def remove(self, folder: str) -> bool:
        """Returns False if the folder is not in the list."""
        real = os.path.realpath(folder)
        with file_lock(self.file):
            if real not in self.folders:
                return False
            self._write(tuple(trusted for trusted in self.folders if trusted != real))
        return True

    def _write(self, folders: tuple[str, ...]) -> None:
        replace_text(self.file, json.dumps({"version": 1, "folders": sorted(folders)}, indent=2) + "\n")
