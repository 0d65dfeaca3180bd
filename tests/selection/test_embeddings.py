from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from metier.selection import CorruptIndexError, Selector, SkillEmbeddings
from selection.example_skills import EXAMPLES, sample


class Letters:
    """A sentence model of a kind: what counts is which letters are used."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.read += len(texts)
        rows = np.array([[text.lower().count(chr(97 + place)) + 0.01 for place in range(26)] for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def learnt() -> SkillEmbeddings:
    embeddings = SkillEmbeddings(Letters())
    assert embeddings.learn(EXAMPLES) == len(EXAMPLES) == len(embeddings)
    return embeddings


def test_each_skill_is_read_once() -> None:
    reader = Letters()
    embeddings = SkillEmbeddings(reader)
    embeddings.learn(EXAMPLES)
    assert embeddings.learn(EXAMPLES) == 0
    assert embeddings.learn([*EXAMPLES, sample("new", "Something new.")]) == 1
    assert reader.read == len(EXAMPLES) + 1


def test_skills_of_similar_meaning_rank_higher() -> None:
    nearness = learnt().similarity(f"pdf forms. {EXAMPLES[0].description}", EXAMPLES)
    assert nearness is not None
    assert np.argmax(nearness) == 0
    assert nearness.sum() == pytest.approx(0, abs=1e-3)


def test_a_skill_not_learnt_is_neither_raised_nor_lowered() -> None:
    embeddings = SkillEmbeddings(Letters())
    embeddings.learn(EXAMPLES[1:])
    nearness = embeddings.similarity("anything", EXAMPLES)
    assert nearness is not None
    assert nearness[0] == 0
    assert abs(nearness[1:]).max() > 0.1


def test_without_a_learnt_skill_there_is_nothing_to_say() -> None:
    assert SkillEmbeddings(Letters()).similarity("anything", EXAMPLES) is None


def test_saved_meanings_say_the_same() -> None:
    embeddings = learnt()
    again = SkillEmbeddings.from_buffer(embeddings.to_bytes(), Letters())
    before, after = (one.similarity("merge files", EXAMPLES) for one in (embeddings, again))
    assert before is not None
    assert after is not None
    assert np.array_equal(before, after)
    assert again.learn(EXAMPLES) == 0


def test_saved_embeddings_can_be_limited_to_some_skills() -> None:
    again = SkillEmbeddings.from_buffer(learnt().to_bytes(EXAMPLES[:2]), Letters())
    assert len(again) == 2
    assert again.learn(EXAMPLES) == len(EXAMPLES) - 2


def test_meanings_that_learnt_more_after_they_were_opened_keep_both() -> None:
    again = SkillEmbeddings.from_buffer(learnt().to_bytes(EXAMPLES[1:]), Letters())
    again.learn(EXAMPLES)
    asked = f"pdf forms. {EXAMPLES[0].description}"
    before, after = (one.similarity(asked, EXAMPLES) for one in (learnt(), again))
    assert before is not None
    assert after is not None
    assert np.array_equal(before, after)


def test_damaged_meanings_are_refused() -> None:
    with pytest.raises(CorruptIndexError):
        SkillEmbeddings.from_buffer(learnt().to_bytes()[:-64], Letters())


def test_an_index_is_not_a_store_of_embeddings() -> None:
    with pytest.raises(CorruptIndexError):
        SkillEmbeddings.from_buffer(Selector(EXAMPLES).index_bytes(), Letters())


def test_a_selector_with_meanings_still_answers_by_words() -> None:
    found = Selector(EXAMPLES, embeddings=learnt()).select("why do my pods crash, image pulls fail", limit=1)
    assert found.selected[0].name == "kubernetes-debug"


def test_the_share_of_the_sentence_model_is_reported() -> None:
    match = Selector(EXAMPLES, embeddings=learnt()).select("merge pdf files", limit=1).selected[0]
    assert "sentence model" in {share.signal for share in match.shares}
    plain = Selector(EXAMPLES).select("merge pdf files", limit=1).selected[0]
    assert "sentence model" not in {share.signal for share in plain.shares}


def test_the_more_the_words_say_the_less_the_meaning_adds() -> None:
    def share(request: str) -> float:
        match = Selector(EXAMPLES, embeddings=learnt()).select(request, limit=1).selected[0]
        return abs(next(share.value for share in match.shares if share.signal == "sentence model"))

    assert share("fill in PDF forms") == 0
    assert share("fill in zebra glockenspiel forms") > 0
