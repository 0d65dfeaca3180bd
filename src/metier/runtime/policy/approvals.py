"""The user's approvals for single skills, each bound to one version of the skill.

An approval holds the skill's name, a tool pattern and the skill's digest. When an update or an edit changes the skill, its
digest changes and the approval no longer applies.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Protocol

from metier.errors import ConfigError
from metier.sources import file_lock, read_regular, replace_text
from metier.values import dataclass

__all__ = ["Approval", "Approvals", "FileApprovals", "MemoryApprovals", "StoredApprovals"]


@dataclass(frozen=True, slots=True, order=True)
class Approval:
    skill: str
    pattern: str
    digest: str


class Approvals(Protocol):
    def of_skill(self, skill: str) -> tuple[Approval, ...]: ...

    def add(self, skill: str, digest: str, pattern: str) -> None: ...


class StoredApprovals(Approvals, Protocol):
    """Approvals that outlive the process. The conformance suite is `metier.testing.StoredApprovalsConformance`."""

    @property
    def all(self) -> tuple[Approval, ...]: ...

    def remove(self, skill: str, patterns: Collection[str] = ()) -> int:
        """Removes the approvals of a skill, or only those with these patterns; returns their number."""


class MemoryApprovals:
    def __init__(self) -> None:
        self._approvals: tuple[Approval, ...] = ()

    def of_skill(self, skill: str) -> tuple[Approval, ...]:
        return tuple(each for each in self._approvals if each.skill == skill)

    def add(self, skill: str, digest: str, pattern: str) -> None:
        self._approvals = _with(self._approvals, Approval(skill, pattern, digest))


class FileApprovals:
    """Approvals in a JSON file. Every change is made under a lock and replaces the whole file."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fspath(file)

    @property
    def all(self) -> tuple[Approval, ...]:
        try:
            rows = json.loads(read_regular(self.file))["approvals"]
            return tuple(Approval(str(row["skill"]), str(row["pattern"]), str(row["digest"])) for row in rows)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            # A broken file must not be read as an empty list and overwritten.
            raise ConfigError(
                f"invalid list of approvals: {error}", file=self.file, hint="delete the file and approve again"
            ) from error

    def of_skill(self, skill: str) -> tuple[Approval, ...]:
        return tuple(each for each in self.all if each.skill == skill)

    def add(self, skill: str, digest: str, pattern: str) -> None:
        with file_lock(self.file):
            self._write(_with(self.all, Approval(skill, pattern, digest)))

    def remove(self, skill: str, patterns: Collection[str] = ()) -> int:
        with file_lock(self.file):
            before = self.all
            kept = tuple(each for each in before if each.skill != skill or (patterns and each.pattern not in patterns))
            if kept != before:
                self._write(kept)
        return len(before) - len(kept)

    def _write(self, approvals: tuple[Approval, ...]) -> None:
        rows = [{"skill": each.skill, "pattern": each.pattern, "digest": each.digest} for each in sorted(approvals)]
        replace_text(self.file, json.dumps({"version": 1, "approvals": rows}, indent=2) + "\n")


def _with(approvals: tuple[Approval, ...], new: Approval) -> tuple[Approval, ...]:
    # It replaces the approval of an older version, which no longer applies.
    return (*(each for each in approvals if (each.skill, each.pattern) != (new.skill, new.pattern)), new)
