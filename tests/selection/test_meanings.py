from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from metier.selection import CorruptIndex, Meanings, Selector
from selection.shelf import SHELF


def letters(texts: Sequence[str]) -> np.ndarray:
    """A sentence model of a kind: what counts is which letters are used."""
    rows = np.array([[text.lower().count(chr(97 + place)) + 0.01 for place in range(26)] for text in texts])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def learnt() -> Meanings:
    meanings = Meanings(letters)
    assert meanings.learn(SHELF) == len(SHELF)
    return meanings


def test_each_skill_is_encoded_once() -> None:
    assert learnt().learn(SHELF) == 0


def test_what_means_the_same_rises() -> None:
    columns = learnt().columns(f"pdf forms. {SHELF[0].description}", SHELF)
    assert columns is not None
    assert np.argmax(columns, axis=0).tolist() == [0, 0]


def test_a_skill_not_learnt_is_neither_raised_nor_lowered() -> None:
    meanings = Meanings(letters)
    meanings.learn(SHELF[1:])
    columns = meanings.columns("anything", SHELF)
    assert columns is not None
    assert columns[0, 1] == pytest.approx(0, abs=1e-5)


def test_without_a_learnt_skill_there_is_nothing_to_say() -> None:
    assert Meanings(letters).columns("anything", SHELF) is None


def test_saved_meanings_say_the_same() -> None:
    meanings = learnt()
    again = Meanings.from_buffer(meanings.to_bytes(), letters)
    before, after = (one.columns("merge files", SHELF) for one in (meanings, again))
    assert before is not None
    assert after is not None
    assert np.allclose(before, after, atol=1e-3)


def test_damaged_meanings_are_refused() -> None:
    with pytest.raises(CorruptIndex):
        Meanings.from_buffer(learnt().to_bytes()[:-64], letters)


def test_a_selector_with_meanings_still_answers_by_words() -> None:
    found = Selector(SHELF, meanings=learnt()).select("why do my pods crash, image pulls fail", limit=1)
    assert found.selected[0].name == "kubernetes-debug"
