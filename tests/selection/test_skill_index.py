from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from metier.selection import CorruptIndexError, Selector, segment
from metier.selection.index_document import read_skill
from metier.selection.segment import build_segment, unpack_counts
from metier.selection.tokenization import term_hash
from metier.selection.trained_data import load_trained_data
from metier.values import replace
from selection.example_skills import EXAMPLES, Sample, sample

ASKED = (
    "merge pdf files",
    "slow sql query",
    "write unit tests in pytest",
    "/csv-cleaner",
    "tidy the changelog",
    "aloha",
)


def answers(selector: Selector) -> list[list[tuple[str, float, float, str]]]:
    return [
        [(m.id, round(m.score, 5), round(m.confidence, 5), m.reason) for m in selector.select(text, limit=20)] for text in ASKED
    ]


def test_adding_one_by_one_is_the_same_as_building_at_once() -> None:
    grown = Selector(EXAMPLES[:4])
    grown.select("warm up the index")
    for skill in EXAMPLES[4:]:
        grown.add(skill)
        grown.select("and use it in between")
    assert answers(grown) == answers(Selector(EXAMPLES))


def test_changing_and_removing_is_the_same_as_building_anew() -> None:
    changed = sample("sql-tuner", "Teach people to cook pasta.", triggers={"keywords": ["aloha"]})
    selector = Selector(EXAMPLES)
    selector.select("warm up the index")
    selector.change(changed)
    selector.remove("home#regex-coach")
    rebuilt = Selector([skill for skill in EXAMPLES if skill.name not in ("sql-tuner", "regex-coach")] + [changed])
    assert answers(selector) == answers(rebuilt)
    assert len(selector) == len(EXAMPLES) - 1


def test_a_large_addition_merges_the_parts() -> None:
    crowd = [sample(f"skill-{place}", f"Does thing number {place} with pdf") for place in range(400)]
    grown = Selector(EXAMPLES)
    grown.select("warm up")
    for skill in crowd:
        grown.add(skill)
    assert answers(grown) == answers(Selector([*EXAMPLES, *crowd]))


def test_a_saved_index_answers_as_before(tmp_path: Path) -> None:
    selector = Selector(EXAMPLES)
    path = tmp_path / "index"
    path.write_bytes(selector.index_bytes())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        opened = Selector.from_buffer(mapped, EXAMPLES)
        assert answers(opened) == answers(selector)
        del opened


def test_saving_after_changes_equals_saving_a_fresh_build() -> None:
    selector = Selector(EXAMPLES[:5])
    selector.select("warm up")
    selector.remove(EXAMPLES[2].id)
    for skill in EXAMPLES[5:]:
        selector.add(skill)
    kept = [skill for skill in EXAMPLES if skill is not EXAMPLES[2]]
    assert selector.index_bytes() == Selector(kept).index_bytes()


def test_opening_an_index_detects_changed_skills() -> None:
    saved = Selector(EXAMPLES).index_bytes()
    now = [sample("pdf-forms", "Bake bread."), *EXAMPLES[2:], sample("brand-new", "Aloha")]
    opened = Selector.from_buffer(saved, now)
    assert answers(opened)[5][0][0] == "home#brand-new"
    assert "home#invoice-writer" not in opened
    assert opened.select("bake bread", limit=1).selected[0].name == "pdf-forms"


@pytest.mark.parametrize("cut", [0, 10, 100, 5000])
def test_a_cut_index_is_refused(cut: int) -> None:
    with pytest.raises(CorruptIndexError):
        Selector.from_buffer(Selector(EXAMPLES).index_bytes()[:cut], EXAMPLES)


def test_a_flipped_bit_anywhere_is_refused() -> None:
    good = Selector(EXAMPLES).index_bytes()
    for place in range(0, len(good), max(1, len(good) // 97)):
        bad = bytearray(good)
        bad[place] ^= 4
        with pytest.raises(CorruptIndexError):
            Selector.from_buffer(bytes(bad), EXAMPLES)


def test_an_index_of_another_training_run_is_refused() -> None:
    trained = load_trained_data()
    other = replace(trained, importance=trained.importance * 2)
    with pytest.raises(CorruptIndexError, match="other trained data"):
        Selector.from_buffer(Selector(EXAMPLES, trained=other).index_bytes(), EXAMPLES)


def test_other_bytes_are_refused() -> None:
    with pytest.raises(CorruptIndexError, match="magic bytes"):
        Selector.from_buffer(b"SQLite format 3\x00" * 100, EXAMPLES)


def test_adding_the_same_id_twice_is_an_error(selector: Selector) -> None:
    with pytest.raises(ValueError, match="already has"):
        selector.add(EXAMPLES[0])


def test_removing_an_unknown_skill_is_an_error(selector: Selector) -> None:
    with pytest.raises(KeyError):
        selector.remove("home#missing")


def test_an_empty_index_can_be_saved_and_opened() -> None:
    assert len(Selector.from_buffer(Selector([]).index_bytes(), [])) == 0


def test_ids_in_any_script_survive() -> None:
    skill = Sample("出版社#名前", "名前", "日本語の説明")
    opened = Selector.from_buffer(Selector([skill]).index_bytes(), [skill])
    assert opened.select("日本語の説明", limit=1).selected[0].id == skill.id


def test_counts_of_a_term_are_kept_by_field_up_to_what_the_signals_tell_apart() -> None:
    often = sample("csv csv", "Csv. " * 9, "csv " * 80)
    built = build_segment([read_skill(often), read_skill(sample("tax", "", "csv tax"))], load_trained_data())
    [place] = built.places(np.array([term_hash("csv")], dtype=np.uint64)).tolist()
    begin, end = built.term_start[place : place + 2].tolist()
    counts = unpack_counts(built.posting_count[begin:end])
    assert counts.tolist() == [[2, 7, 0, 0, 63], [0, 0, 0, 0, 1]]


def test_a_large_library_has_wider_rows_and_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Selector(EXAMPLES)
    monkeypatch.setattr(segment, "MAX_SHORT_ROWS", 4)
    large = Selector(EXAMPLES)
    assert answers(large) == answers(small)
    wide = build_segment([read_skill(skill) for skill in EXAMPLES], load_trained_data())
    assert wide.posting_row.dtype.itemsize == 4
    assert answers(Selector.from_buffer(large.index_bytes(), EXAMPLES)) == answers(small)
