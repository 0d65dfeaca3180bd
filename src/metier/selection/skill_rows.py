"""The skills of a selector by row, and their rows by id.

An index that was opened with a function has a million rows at no cost: a skill is looked up when a result shows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arrays import Array
from .index_document import SelectableSkill
from .segment import Segment

__all__ = ["FindSkill", "SkillRows"]

FindSkill = Callable[[str], SelectableSkill]
_MOST_FOUND = 20_000
"""Looked up skills that are kept."""


class SkillRows:
    def __init__(self, segment: Segment | None = None, find_skill: FindSkill | None = None) -> None:
        """With `find_skill` every row of the segment is live; without, those that `set` gets a skill for."""
        self._segment = segment
        self._find_skill = find_skill
        self._indexed = len(segment) if segment is not None else 0
        self._skills: dict[int, SelectableSkill] = {}
        self._found: dict[int, SelectableSkill] = {}
        self._row: dict[str, int] = {}
        self._is_live = bytearray((b"\1" if find_skill else b"\0") * self._indexed)
        self._live_count = self._indexed if find_skill else 0

    def __len__(self) -> int:
        """The number of live rows."""
        return self._live_count

    @property
    def live(self) -> Array:
        """A mask of the live rows."""
        return np.frombuffer(bytes(self._is_live), dtype=bool)

    @property
    def all_live(self) -> bool:
        return self._live_count == len(self._is_live)

    def skill(self, row: int) -> SelectableSkill:
        known = self._skills.get(row) or self._found.get(row)
        if known is None:
            if self._segment is None or self._find_skill is None:
                raise IndexError(f"row {row} has no skill")
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            known = self._found[row] = self._find_skill(self._segment.id_at(row))
        return known

    def find(self, skill_id: str) -> int | None:
        """Returns the live row of a skill."""
        row = self._row.get(skill_id)
        if row is None and self._find_skill and self._segment is not None:
            row = self._segment.row_of(skill_id)
            if row is not None and self._is_live[row]:
                self._row[skill_id] = row
                return row
            return None
        return row

    def set(self, row: int, skill: SelectableSkill) -> None:
        """Makes an indexed row live."""
        self._skills[row], self._row[skill.id] = skill, row
        self._live_count += not self._is_live[row]
        self._is_live[row] = 1

    def append(self, skill: SelectableSkill) -> None:
        self._is_live.append(0)
        self.set(len(self._is_live) - 1, skill)

    def remove(self, skill_id: str) -> bool:
        """Returns False if there is no such skill."""
        row = self.find(skill_id)
        if row is None:
            return False
        self._row.pop(skill_id, None)
        self._skills.pop(row, None)
        self._is_live[row] = 0
        self._live_count -= 1
        return True

    def compact(self, merged: Segment) -> SkillRows:
        """Returns the live rows, renumbered as in a segment that holds only these."""
        rows = SkillRows(merged, self._find_skill)
        for number, row in enumerate(np.flatnonzero(self.live).tolist()):
            if (known := self._skills.get(row)) is not None:
                rows.set(number, known)
        return rows
