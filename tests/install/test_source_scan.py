"""Scans of many folders: a skill that cannot be scanned does not hide the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from builders import write_skill
from metier.bulk import ItemFailure
from metier.install import UnscannedSkill, scan_folders


class _FailingMap:
    """Its worker for `two` ends each time."""

    def run(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for number, item in enumerate(items):
            yield number, ItemFailure("its worker ended 3 times") if item[0] == "two" else function(item)


def test_a_skill_whose_worker_ends_does_not_hide_the_others(tmp_path: Path) -> None:
    folders = [str(write_skill(tmp_path, name)) for name in ("one", "two", "three")]
    steps: list[int] = []
    found, failed = scan_folders(folders, on=_FailingMap(), advance=steps.append)
    assert [skill.name for skill in found] == ["one", "three"]
    assert failed == [UnscannedSkill(name="two", where=folders[1], reason="its worker ended 3 times")]
    assert sum(steps) == 3
