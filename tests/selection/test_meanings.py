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
    added = learnt().bonus(f"pdf forms. {SHELF[0].description}", SHELF)
    assert int(np.argmax(added)) == 0


def test_a_skill_not_learnt_is_neither_raised_nor_lowered() -> None:
    meanings = Meanings(letters)
    meanings.learn(SHELF[1:])
    assert meanings.bonus("anything", SHELF)[0] == 0


def test_saved_meanings_say_the_same() -> None:
    meanings = learnt()
    again = Meanings.from_buffer(meanings.to_bytes(), letters)
    assert np.allclose(again.bonus("merge files", SHELF), meanings.bonus("merge files", SHELF))


def test_damaged_meanings_are_refused() -> None:
    with pytest.raises(CorruptIndex):
        Meanings.from_buffer(learnt().to_bytes()[:-64], letters)


def test_a_selector_with_meanings_still_answers_by_words() -> None:
    found = Selector(SHELF, meanings=learnt()).select("why do my pods crash, image pulls fail", limit=1)
    assert found.selected[0].name == "kubernetes-debug"
