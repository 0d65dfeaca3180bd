from __future__ import annotations

import json
from pathlib import Path

import pytest

from metier.selection import MatchDecision, Selection, Selector, SelectorOptions
from selection.example_skills import EXAMPLES, Sample, sample

UNRELATED = Path(__file__).parents[1] / "data" / "selection" / "unrelated.jsonl"


def names(selection: Selection) -> list[str]:
    return [match.name for match in selection]


@pytest.mark.parametrize(
    ("request_text", "wanted"),
    [
        ("merge these two pdf files into one", "pdf-forms"),
        ("my pods are in CrashLoopBackOff since this morning", "kubernetes-debug"),
        ("this query takes 40 seconds on our PostgreSQL database, which index is missing?", "sql-tuner"),
        ("what does ^\\d{3}-\\d+$ match? explain the regular expression", "regex-coach"),
        ("write the changelog for version 2 from the merged pull requests", "release-notes"),
    ],
)
def test_the_right_skill_comes_first(selector: Selector, request_text: str, wanted: str) -> None:
    assert names(selector.select(request_text, limit=3))[0] == wanted


def test_with_a_limit_the_best_are_returned_however_doubtful(selector: Selector) -> None:
    found = selector.select("query the pdf tests", limit=4)
    assert len(found) == 4
    assert all(match.decision in MatchDecision for match in found)
    assert found.considered == len(EXAMPLES)


def test_without_a_limit_only_skills_to_activate_are_returned(selector: Selector) -> None:
    found = selector.select("clean this messy csv table and remove duplicates")
    assert len(found) <= 3
    assert {match.decision for match in found} <= {MatchDecision.ACTIVATE}


def test_no_more_than_max_skills_are_activated() -> None:
    copies = [sample(f"pdf-{place}", "Merge PDF files and fill in PDF forms") for place in range(8)]
    selector = Selector(copies, options=SelectorOptions(max_skills=2))
    assert len(selector.select("use pdf-1, pdf-2 and pdf-3 here")) == 2


def test_a_request_activates_one_skill_and_suggests_the_others_that_fit() -> None:
    copies = [sample(f"pdf-{place}", "Merge PDF files and fill in PDF forms") for place in range(3)]
    found = Selector(copies).select("merge these pdf files", limit=3)
    assert [match.decision.value for match in found] == ["activate", "suggest", "suggest"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("merge these PDF files into one, then speed up the slow SQL query with an index", {"pdf-forms", "sql-tuner"}),
        ("merge these PDF files into one and also fill in the PDF form", {"pdf-forms"}),
        ("merge these PDF files into one; have a nice day", {"pdf-forms"}),
    ],
)
def test_a_part_that_asks_for_other_work_activates_a_second_skill(text: str, names: set[str]) -> None:
    skills = [
        sample("pdf-forms", "Merges PDF files and fills in PDF forms. Use when a document is a PDF."),
        sample("sql-tuner", "Speeds up slow SQL queries with indexes and query plans in PostgreSQL."),
    ]
    assert {match.name for match in Selector(skills).select(text)} == names


def test_a_correction_decides_between_skills_that_fit_and_calls_no_other() -> None:
    copies = [sample(f"pdf-{place}", "Merge PDF files and fill in PDF forms") for place in range(2)]
    selector = Selector([*copies, sample("poems", "Writes poems and verses")])
    for place in range(2):
        [best] = selector.select("merge these pdf files", prior={f"home#pdf-{place}": 0.35, "home#poems": 1.0, "gone": 1.0})
        assert best.name == f"pdf-{place}"
        assert "you asked for it before" in best.reason
    [best] = selector.select("merge these pdf files", prior={"home#pdf-0": -3.0})
    assert best.name == "pdf-1"


def test_the_latest_of_two_recent_skills_wins_a_tie() -> None:
    selector = Selector([sample(f"pdf-{place}", "Merge PDF files and fill in PDF forms") for place in range(3)])
    for recent in (["home#pdf-1", "home#pdf-2"], ["home#pdf-2", "home#pdf-1"]):
        assert selector.select("merge these pdf files", recent=recent).selected[0].id == recent[-1]


def test_scores_fall_and_stay_between_0_and_1(selector: Selector) -> None:
    found = list(selector.select("write tests for python functions", limit=10))
    scores = [match.score for match in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= match.score <= 1 and 0 <= match.confidence <= 1 for match in found)


def test_a_match_says_why_in_the_words_of_the_request(selector: Selector) -> None:
    best = selector.select("merge pdf files", limit=1).selected[0]
    assert "pdf" in best.reason
    assert "description" in best.reason


def test_a_match_reports_the_share_of_each_signal(selector: Selector) -> None:
    best = selector.select("merge pdf files", limit=1).selected[0]
    assert {"name", "description", "body", "meaning"} <= {share.signal for share in best.shares}


def test_an_empty_library_answers_with_nothing() -> None:
    found = Selector([]).select("anything at all", limit=5)
    assert (found.selected, found.rejected, found.considered) == ((), (), 0)


@pytest.mark.parametrize("text", ["", "   ", "the of and", "!!!", "\x00\ud800", "🦊🦊🦊", "a" * 50_000])
def test_a_request_that_says_nothing_selects_nothing(selector: Selector, text: str) -> None:
    assert selector.select(text).selected == ()


def test_a_limit_of_zero_selects_nothing(selector: Selector) -> None:
    assert selector.select("merge pdf files", limit=0).selected == ()


def test_skills_without_description_or_with_odd_fields_are_tolerated() -> None:
    class Bare:
        id, name, description = "x", "bare", None
        tags, triggers, body = None, "alpha, beta", None

    found = Selector([Bare(), *EXAMPLES]).select("alpha", limit=1)  # type: ignore[list-item]
    assert names(found) == ["bare"]


def test_the_same_question_has_the_same_answer() -> None:
    first, second = (Selector(EXAMPLES).select("fill in a form", limit=10) for _ in range(2))
    assert [(m.id, m.score, m.confidence, m.reason) for m in first] == [(m.id, m.score, m.confidence, m.reason) for m in second]


def test_a_negative_clause_lowers_the_confidence() -> None:
    open_minded = sample("letters", "Write letters to customers about invoices.")
    strict = sample("letters", "Write letters to customers about invoices. Do not use for legal contracts.")
    request = "write a legal contract letter"
    without, with_clause = (
        Selector([one, *EXAMPLES[2:]]).select(request, limit=1).selected[0] for one in (open_minded, strict)
    )
    assert with_clause.name == without.name == "letters"
    assert "not for" in with_clause.reason
    assert "legal" not in without.reason


@pytest.mark.parametrize(
    "text",
    [
        "Bitte fasse die beiden PDF Dateien zusammen",
        "limpia esta tabla CSV por favor",
        "请帮我合并两个PDF文件",
        "この PDF を結合してください",
        "объедини два файла PDF",
    ],
)
def test_loan_words_of_other_languages_find_english_skills(selector: Selector, text: str) -> None:
    wanted = "csv-cleaner" if "CSV" in text else "pdf-forms"
    assert names(selector.select(text, limit=1)) == [wanted]


@pytest.mark.parametrize("text", ["Wie wird das Wetter morgen?", "¿Qué hora es en Madrid?", "今日は何曜日ですか", "كيف حالك"])
def test_small_talk_of_other_languages_activates_nothing(selector: Selector, text: str) -> None:
    assert selector.select(text).selected == ()


def test_unrelated_requests_hardly_ever_activate_a_skill(selector: Selector) -> None:
    asked = [json.loads(line)["query"] for line in UNRELATED.read_text(encoding="utf-8").splitlines()]
    fired = [text for text in asked if selector.select(text).selected]
    assert len(asked) == 200
    assert len(fired) <= 10, fired


def test_a_whole_page_of_task_still_finds_its_skill(selector: Selector) -> None:
    page = (
        "You are helping our finance team. The folder /data holds exports from three shops. "
        "Some rows appear twice, some values are missing, dates come in several types. "
        "Clean the CSV tables and write the result to /data/clean.csv. "
        "Keep the order of columns. Do not touch the originals. " * 3
    )
    assert "csv-cleaner" in names(selector.select(page, limit=3))


def test_any_object_with_the_right_attributes_is_a_skill() -> None:
    assert isinstance(EXAMPLES[0], Sample)
    assert Selector(EXAMPLES).select("merge pdf", limit=1).selected[0].skill is EXAMPLES[0]


def test_a_large_limit_returns_more_than_were_ranked_closely() -> None:
    shelf = [sample(f"table-{place}", f"Clean table number {place} of the export.") for place in range(150)]
    selector = Selector(shelf)
    few, many = (selector.select("clean this table", limit=limit).selected for limit in (100, 140))
    assert [match.id for match in many[:100]] == [match.id for match in few]
    assert len({match.id for match in many}) == 140
    assert [match.score for match in many] == sorted((match.score for match in many), reverse=True)
    assert many[-1].reason


def test_one_sentence_of_a_long_request_is_enough(selector: Selector) -> None:
    scenery = "The quarterly offsite was in the mountains this year and the weather held. " * 6
    long = scenery + "Please explain why this regular expression does not match. " + scenery
    assert names(selector.select(long, limit=1)) == ["regex-coach"]
