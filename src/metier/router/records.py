"""Records of the router in metier's home: the changes that installed hooks, the skills named in a conversation, errors."""

from __future__ import annotations

import json
import os
import time
import zlib

from metier.errors import ConfigError
from metier.sources import read_regular, replace_bytes, replace_text
from metier.values import dataclass

__all__ = ["HookRecords"]

_KEPT_SECONDS = 7 * 24 * 3600
_MOST_NAMED = 200


@dataclass(frozen=True, slots=True)
class HookRecords:
    """`folder` is private to the user."""

    folder: str

    @property
    def changes_file(self) -> str:
        return os.path.join(self.folder, "changes.json")

    @property
    def errors_file(self) -> str:
        return os.path.join(self.folder, "last-error.txt")

    def change_of(self, file: str) -> tuple[str | None, str] | None:
        """Returns the text of a configuration file before and after its hook was added."""
        row = self._changes().get(os.path.realpath(file))
        return (row[0], row[1]) if row else None

    def record_change(self, file: str, before: str | None, after: str) -> None:
        replace_text(self.changes_file, json.dumps({**self._changes(), os.path.realpath(file): [before, after]}))

    def forget_change(self, file: str) -> None:
        changes = self._changes()
        if changes.pop(os.path.realpath(file), None) is not None:
            replace_text(self.changes_file, json.dumps(changes))

    def named_in(self, session: str) -> list[str]:
        """Returns the skills that were named in a conversation."""
        try:
            return read_regular(self._session_file(session)).decode("ascii", "replace").split() if session else []
        except OSError:
            return []

    def record_named(self, session: str, name: str) -> None:
        if session:
            names = [*self.named_in(session), name][-_MOST_NAMED:]
            replace_bytes(self._session_file(session), " ".join(names).encode())

    def record_error(self, text: str) -> None:
        replace_text(self.errors_file, f"{text}\n")

    def last_error(self) -> str:
        try:
            return read_regular(self.errors_file).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def remove_old_sessions(self) -> None:
        folder = os.path.join(self.folder, "conversations")
        oldest = time.time() - _KEPT_SECONDS
        try:
            names = os.listdir(folder)
        except OSError:
            return
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.stat(path).st_mtime < oldest:
                    os.unlink(path)
            except OSError:
                continue

    def _session_file(self, session: str) -> str:
        data = session.encode("utf-8", "surrogatepass")
        return os.path.join(self.folder, "conversations", f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}")

    def _changes(self) -> dict[str, list[str]]:
        try:
            changes = json.loads(read_regular(self.changes_file))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise ConfigError("not JSON", file=self.changes_file, hint="delete it, and run the command again") from error
        return changes if isinstance(changes, dict) else {}
