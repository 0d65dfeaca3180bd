"""The user's corrections of the selection."""

from __future__ import annotations

import os
from pathlib import Path

from metier.runtime import Corrections, SelectionPrior


def test_corrections_survive_in_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "state" / "corrections.json"
    first = SelectionPrior(str(file))
    first.add("charts", wanted=True)
    first.add("charts", wanted=True)
    first.add("poems", wanted=False)
    assert SelectionPrior(str(file)).corrections() == {"charts": Corrections(wanted=2), "poems": Corrections(unwanted=1)}
    assert os.stat(file).st_mode & 0o777 == 0o600


def test_two_programs_lose_no_correction(tmp_path: Path) -> None:
    one, other = (SelectionPrior(str(tmp_path / "corrections.json")) for _ in range(2))
    one.add("charts", wanted=True)
    other.add("charts", wanted=True)
    one.add("poems", wanted=True)
    assert one.corrections() == {"charts": Corrections(wanted=2), "poems": Corrections(wanted=1)}


def test_the_effect_is_bounded_and_a_draw_has_none() -> None:
    assert Corrections(wanted=100).odds == -Corrections(unwanted=100).odds == 1
    assert Corrections(wanted=3, unwanted=3).odds == 0
    assert 0 < Corrections(wanted=1).odds < Corrections(wanted=2).odds


def test_the_latest_five_hundred_are_kept() -> None:
    prior = SelectionPrior()
    for number in range(501):
        prior.add(f"skill-{number}", wanted=True)
    assert len(prior.corrections()) == 500
    assert "skill-0" not in prior.corrections()


def test_clear_deletes_all(tmp_path: Path) -> None:
    prior = SelectionPrior(str(tmp_path / "corrections.json"))
    assert prior.clear() == 0
    prior.add("charts", wanted=True)
    assert prior.clear() == 1
    assert SelectionPrior(prior.file).corrections() == {}


def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "corrections.json"
    for damaged in ("{", "[1]", '{"charts": 3}', '{"charts": ["x", 1]}'):
        file.write_text(damaged)
        assert SelectionPrior(str(file)).corrections() == {}
    prior = SelectionPrior(str(file))
    prior.add("charts", wanted=True)
    assert SelectionPrior(str(file)).corrections() == {"charts": Corrections(wanted=1)}


def test_a_home_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    prior = SelectionPrior(str(tmp_path / "file" / "corrections.json"))
    prior.add("charts", wanted=True)
    assert prior.corrections() == {"charts": Corrections(wanted=1)}
