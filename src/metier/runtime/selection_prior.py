"""The user's corrections of the selection: skills that they called by name, and selected skills that they unloaded.

They move later selections a little, in all sessions. The file holds names and counts only, no request, and is private to its
owner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from metier.sources import file_lock, replace_text
from metier.values import dataclass

__all__ = ["Corrections", "SelectionPrior"]

_STEP, _MOST = 0.35, 1.0
"""Log-odds of one correction, and of all: enough to decide between two skills that fit, too little to activate another."""
_MAX_SKILLS = 500
"""Skills in the file; those corrected longest ago are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrections:
    """The corrections for one skill."""

    wanted: int = 0
    """Times that the user called it by name."""
    unwanted: int = 0
    """Times that the user unloaded it after it was selected."""

    @property
    def odds(self) -> float:
        """Log-odds that are added to the score and the fit of the skill."""
        return max(-_MOST, min(_MOST, _STEP * (self.wanted - self.unwanted)))


class SelectionPrior:
    """Keeps the corrections in a file, or without one as long as it lives. A damaged file counts as empty."""

    def __init__(self, file: str | None = None) -> None:
        self.file = file
        self._found: dict[str, Corrections] | None = None if file else {}

    def corrections(self) -> Mapping[str, Corrections]:
        """Returns the corrections by name of the skill, the latest last."""
        if self._found is None:
            self._found = _read(self.file)
        return self._found

    def add(self, name: str, *, wanted: bool) -> None:
        if self.file is None:
            self._found = _added(self._found or {}, name, wanted)
            return
        try:
            with file_lock(self.file):
                self._found = _added(_read(self.file), name, wanted)
                rows = {each: [counts.wanted, counts.unwanted] for each, counts in self._found.items()}
                replace_text(self.file, json.dumps(rows) + "\n")
        except OSError:
            # A read-only home must not stop an activation; the correction lives as long as this object.
            self._found = _added(self.corrections(), name, wanted)

    def clear(self) -> int:
        """Deletes all corrections; returns the number of skills that had any."""
        count = len(self.corrections())
        self._found = {}
        if self.file is not None and count:
            with file_lock(self.file):
                replace_text(self.file, "{}\n")
        return count


def _added(found: Mapping[str, Corrections], name: str, wanted: bool) -> dict[str, Corrections]:
    before = found.get(name, Corrections())
    after = Corrections(wanted=before.wanted + wanted, unwanted=before.unwanted + (not wanted))
    rest = [(each, counts) for each, counts in found.items() if each != name]
    return dict([*rest[-(_MAX_SKILLS - 1) :], (name, after)])


def _read(file: str | None) -> dict[str, Corrections]:
    try:
        with open(file or "", encoding="utf-8") as stream:
            rows = json.load(stream)
        return {str(name): Corrections(wanted=int(row[0]), unwanted=int(row[1])) for name, row in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError, IndexError):
        return {}
