"""The signals: clauses, adjacent words in a body, passages."""

from __future__ import annotations

import numpy as np
import pytest

from metier.selection.arrays import Array, standard, starts_of, unit
from metier.selection.index_document import read_skill
from metier.selection.query import read_query
from metier.selection.ranker import GROUPS, collect_evidence
from metier.selection.segment import build_segment
from metier.selection.signals import SIGNALS, find_candidates, term_weights
from metier.selection.skill_index import SkillIndex
from metier.selection.tokenization import split_clauses
from metier.selection.trained_data import PASSAGES, load_trained_data
from selection.example_skills import EXAMPLES, Sample, sample


def seen(query: str, *skills: Sample) -> dict[str, Array]:
    """Each signal, by skill."""
    segment = build_segment([read_skill(skill) for skill in skills], load_trained_data())
    library = SkillIndex(segments=(segment,), alive=np.ones(len(skills), dtype=bool), live_count=len(skills))
    evidence = collect_evidence(read_query(query), library, load_trained_data(), limit=100)
    back = np.argsort(evidence.rows)
    return dict(zip(SIGNALS, evidence.values[back].T, strict=True))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Use for 'split tests,' \"A/B tests\" (or experiments)", ["Use for", "split tests", "A/B tests", "or experiments)"]),
        ("writes, reads: checks - all of it", ["writes", "reads", "checks", "all of it"]),
        ("don't split node.js", ["don't split node.js"]),
    ],
)
def test_a_list_falls_into_its_items(text: str, wanted: list[str]) -> None:
    assert split_clauses(text) == wanted


def test_an_item_said_whole_fits_better_than_words_of_several() -> None:
    whole = sample("one", "Use for page speed, split tests, copy edits and price lists.")
    scattered = sample("two", "Use for page tests, copy speed, split edits and price lists.")
    found = seen("split tests", whole, scattered)
    assert found["clause_fit"][0] > found["clause_fit"][1]
    assert found["sentence_share"][0] == pytest.approx(found["sentence_share"][1], rel=1e-3)


def test_adjacent_words_of_the_request_are_noticed_in_a_body() -> None:
    close = sample("one", "Does things.", "First attach the vector database, then write the annual report.")
    apart = sample("two", "Does things.", "First attach the database, then write the vector of the annual report.")
    found = seen("the vector database", close, apart)
    assert found["together"][0] > 0
    assert found["together"][1] == 0


def test_a_passage_counts_in_a_long_body() -> None:
    about = "Invoices need a tax number, a due date and the address of the customer who pays. " * 6
    other = "Kubernetes pods crash when probes fail or when images cannot be pulled from the cluster registry. " * 20
    found = seen(
        "billing and taxes", sample("mixed", "Does things.", other + about + other), sample("other", "Does things.", other)
    )
    assert found["passage"][0] > found["passage"][1]


def test_a_short_body_is_one_passage_and_a_long_one_eight() -> None:
    segment = build_segment(
        [read_skill(skill) for skill in (sample("short", "", "invoice tax"), sample("long", "", "invoice tax " * 900))],
        load_trained_data(),
    )
    assert segment.passage_start.tolist() == [0, 1, 1 + PASSAGES]
    assert segment.passage.any(axis=1).all()


def test_every_signal_is_a_number_whatever_is_asked() -> None:
    for query in ("", "of the", "zzzqqq", "merge", "merge " * 500, "合并文件"):
        assert all(np.isfinite(column).all() for column in seen(query, *EXAMPLES, sample("", ""), sample("bare")).values())


def test_each_signal_has_one_name_for_people_or_is_the_same_for_all_candidates() -> None:
    named = [name for group in GROUPS.values() for name in group]
    assert len(named) == len(set(named))
    assert set(SIGNALS) - set(named) == {"query_terms", "query_mass", "query_idf", "library"}


def test_candidates_are_the_best_by_words_in_order() -> None:
    crowd = [sample(f"skill-{place}", f"{'invoice ' * (place % 7)} tax {place}") for place in range(300)]
    segment = build_segment([read_skill(skill) for skill in crowd], load_trained_data())
    library = SkillIndex(segments=(segment,), alive=np.ones(len(crowd), dtype=bool), live_count=len(crowd))
    query = read_query("invoice tax 17")
    postings = library.postings(query)
    weights = term_weights(query, postings, library.live_count, load_trained_data())
    scores = np.bincount(postings.row, weights=postings.impact * weights[postings.term], minlength=len(crowd))
    for limit in (1, 20, 250, 1000):
        found = find_candidates(postings, weights, len(crowd), limit)
        assert found.tolist() == np.lexsort((np.arange(len(crowd)), -scores))[: min(limit, int((scores > 0).sum()))].tolist()


def test_runs_begin_where_any_column_changes() -> None:
    assert starts_of(np.array([1, 1, 1, 2, 2]), np.array([0, 0, 5, 5, 5])).tolist() == [0, 2, 3]
    assert starts_of(np.array([], dtype=int)).tolist() == []


def test_rows_are_scaled_each_by_itself() -> None:
    rows = standard(np.array([[1.0, 2, 3], [10, 20, 30]]))
    assert np.allclose(rows[0], rows[1], rtol=1e-2)
    assert np.allclose(unit(np.array([[3, 4], [0, 0]])), np.array([[0.6, 0.8], [0, 0]]))
