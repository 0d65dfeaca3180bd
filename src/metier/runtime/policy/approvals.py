"""What the user approved for one skill, bound to what that skill consisted of.

An approval names the skill, a tool pattern and the skill's digest. When the skill changes, by an update or an edit,
the digest is another one and the approval no longer counts: whoever changed it does not inherit the consent.
"""

from __future__ import annotations

import json
import os
from typing import Protocol

from metier.errors import ConfigError
from metier.sources import file_lock, replace_text
from metier.values import dataclass

__all__ = ["Approval", "Approvals", "FileApprovals", "MemoryApprovals"]


@dataclass(frozen=True, slots=True, order=True)
class Approval:
    skill: str
    pattern: str
    digest: str


class Approvals(Protocol):
    def of(self, skill: str) -> tuple[Approval, ...]: ...

    def keep(self, skill: str, digest: str, pattern: str) -> None: ...


class MemoryApprovals:
    def __init__(self) -> None:
        self._kept: tuple[Approval, ...] = ()

    def of(self, skill: str) -> tuple[Approval, ...]:
        return tuple(each for each in self._kept if each.skill == skill)

    def keep(self, skill: str, digest: str, pattern: str) -> None:
        self._kept = _with(self._kept, Approval(skill, pattern, digest))


class FileApprovals:
    """In a small file that only the tool writes; every change is made under a lock and lands whole."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fspath(file)

    @property
    def all(self) -> tuple[Approval, ...]:
        try:
            with open(self.file, encoding="utf-8") as stream:
                rows = json.load(stream)["approvals"]
            return tuple(Approval(str(row["skill"]), str(row["pattern"]), str(row["digest"])) for row in rows)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            # A broken list must not read as "nothing was approved" and be written over, nor as "everything was".
            raise ConfigError(
                f"not a list of approvals: {error}", file=self.file, hint="delete the file and approve again what you need"
            ) from error

    def of(self, skill: str) -> tuple[Approval, ...]:
        return tuple(each for each in self.all if each.skill == skill)

    def keep(self, skill: str, digest: str, pattern: str) -> None:
        with file_lock(self.file):
            self._write(_with(self.all, Approval(skill, pattern, digest)))

    def remove(self, skill: str, pattern: str | None = None) -> int:
        """Take back one approval of a skill, or all of them; how many there were."""
        with file_lock(self.file):
            before = self.all
            kept = tuple(each for each in before if each.skill != skill or pattern not in (None, each.pattern))
            if kept != before:
                self._write(kept)
        return len(before) - len(kept)

    def _write(self, kept: tuple[Approval, ...]) -> None:
        rows = [{"skill": each.skill, "pattern": each.pattern, "digest": each.digest} for each in sorted(kept)]
        replace_text(self.file, json.dumps({"version": 1, "approvals": rows}, indent=2) + "\n")


def _with(kept: tuple[Approval, ...], new: Approval) -> tuple[Approval, ...]:
    # An approval of an older version has ended, and would only make the list longer.
    return (*(each for each in kept if (each.skill, each.pattern) != (new.skill, new.pattern)), new)
