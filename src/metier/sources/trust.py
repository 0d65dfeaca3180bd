"""Which project folders the user has trusted.

Trust is given to a folder and holds for everything below it. It is a list that only the tool writes, so it has its own
small file; every change is made under a lock and lands whole.
"""

from __future__ import annotations

import json
import os

from metier.errors import ConfigError

from .atomic_write import file_lock, replace_text

__all__ = ["Trust"]


class Trust:
    def __init__(self, file: str) -> None:
        self.file = file

    @property
    def folders(self) -> tuple[str, ...]:
        try:
            with open(self.file, encoding="utf-8") as stream:
                folders = json.load(stream)["folders"]
            if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
                raise ValueError("folders is not a list of texts")
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            # A broken list must not read as "nothing is trusted", nor as "everything is".
            raise ConfigError(
                f"not a list of trusted folders: {error}",
                file=self.file,
                hint="delete the file and trust your folders again",
            ) from error
        return tuple(folders)

    def covers(self, folder: str) -> bool:
        real = os.path.realpath(folder)
        return any(real == trusted or real.startswith(trusted.rstrip("/") + "/") for trusted in self.folders)

    def add(self, folder: str) -> bool:
        """False if it was trusted already."""
        real = os.path.realpath(folder)
        with file_lock(self.file):
            if real in self.folders:
                return False
            self._write((*self.folders, real))
        return True

    def remove(self, folder: str) -> bool:
        real = os.path.realpath(folder)
        with file_lock(self.file):
            if real not in self.folders:
                return False
            self._write(tuple(trusted for trusted in self.folders if trusted != real))
        return True

    def _write(self, folders: tuple[str, ...]) -> None:
        replace_text(self.file, json.dumps({"version": 1, "folders": sorted(folders)}, indent=2) + "\n")
