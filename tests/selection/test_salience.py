from __future__ import annotations

import numpy as np
import pytest

from metier.selection import MatchDecision, Selector
from metier.selection.query import read_query
from metier.selection.salience import TERM_FEATURES, adjust_weights, term_features
from metier.selection.trained_data import load_trained_data
from metier.values import replace
from selection.example_skills import EXAMPLES

LONG = (
    "Our team met in Lisbon on 12 March 2026 and Maria brought cake. The folder holds three exports. "
    "Clean the CSV tables and remove the duplicates."
)


def test_every_term_has_every_cue() -> None:
    query = read_query(LONG)
    assert term_features(query, query.weights, load_trained_data()).shape == (len(query), len(TERM_FEATURES))


def test_the_sum_of_weights_is_preserved() -> None:
    query = read_query(LONG)
    weights = np.linspace(2, 8, len(query), dtype=np.float32)
    moved = adjust_weights(query, weights, load_trained_data())
    assert float(moved.sum()) == pytest.approx(float(weights.sum()), rel=1e-4)
    assert (moved > 0).all()
    assert not np.allclose(moved, weights)


def test_action_words_gain_weight_and_context_words_lose_it() -> None:
    query, trained = read_query(LONG), load_trained_data()
    weights = query.weights * trained.rarity(trained.places(query.hashes))
    gain = dict(zip(query.terms, (adjust_weights(query, weights, trained) / weights).tolist(), strict=True))
    task = [gain[term] for term in ("clean", "csv", "tabl", "remov")]
    scenery = [gain[term] for term in ("12", "march", "2026", "maria", "brought", "cake")]
    assert min(task) > max(scenery)


def test_without_the_network_rarity_alone_decides() -> None:
    query = read_query(LONG)
    plain = replace(load_trained_data(), networks={})
    assert adjust_weights(query, query.weights, plain) is query.weights


@pytest.mark.parametrize("text", ["", "the of", "\ud800", "日本語", "x" * 5000, "A", "++ ## _"])
def test_odd_requests_are_weighed_without_a_fuss(text: str) -> None:
    query = read_query(text)
    assert len(adjust_weights(query, query.weights, load_trained_data())) == len(query)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("text", ["hello", "what is 12 times 12?", "who wrote Hamlet?", "I lost my umbrella", "sing me a song"])
def test_a_library_of_a_few_skills_is_not_woken_by_small_talk(size: int, text: str) -> None:
    for start in range(0, len(EXAMPLES), size):
        found = Selector(EXAMPLES[start : start + size]).select(text, limit=3)
        assert all(match.decision is not MatchDecision.ACTIVATE for match in found), [(m.name, m.confidence) for m in found]
