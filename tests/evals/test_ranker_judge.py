"""The local ranker as a judge: who won instead, and why."""

from __future__ import annotations

from pathlib import Path

from evals.authors import author_skill, entry_of, selector_of
from metier.evals.ranker_judge import RankerTriggerJudge, selector_with
from metier.evals.triggers import JudgeChoice
from metier.testing import run_now

PLANTS = "Waters the plants in the office. Use when the user says that plants are dry or asks who waters them."
CHARTS = "Draws bar charts of sales as SVG. Use when the user wants a chart, a plot or a picture of numbers."


def ask(tmp_path: Path, query: str, **options: str) -> JudgeChoice:
    plants = author_skill(tmp_path, "plants", PLANTS)
    charts = author_skill(tmp_path, "charts", CHARTS)
    return run_now(RankerTriggerJudge(selector_of(plants, charts), entry_of(plants), **options)(query))


def test_a_request_for_it_triggers_it(tmp_path: Path) -> None:
    choice = ask(tmp_path, "the plants in the office are dry, water them")
    assert (choice.triggered, choice.winner) == (True, "plants")
    assert choice.own.startswith("place 1, ")


def test_another_winner_is_named_with_the_reason(tmp_path: Path) -> None:
    choice = ask(tmp_path, "draw a bar chart of the sales")
    assert (choice.triggered, choice.winner) == (False, "charts")
    assert "chart" in choice.why
    assert "sure" in choice.why


def test_words_missing_from_the_description_are_named(tmp_path: Path) -> None:
    choice = ask(tmp_path, "repot the ficus before winter")
    assert choice.triggered is False
    assert "its description lacks 'repot', 'ficus', 'before', 'winter'" in choice.own


def test_when_no_skill_wins_it_says_how_much_was_missing(tmp_path: Path) -> None:
    choice = ask(tmp_path, "how old was Mozart")
    assert choice.winner == ""
    assert choice.why


def test_another_description_is_tried_without_touching_the_file(tmp_path: Path) -> None:
    query = "how old was Mozart when he composed the requiem"
    assert not ask(tmp_path, query).triggered
    better = "Tells how old Mozart and other composers were when they composed. Use when asked about a composer's age."
    assert ask(tmp_path, query, description=better).triggered
    assert PLANTS in (tmp_path / "plants/SKILL.md").read_text()


def test_the_evaluated_skill_replaces_the_installed_one_of_its_name(tmp_path: Path) -> None:
    installed = author_skill(tmp_path / "installed", "plants", PLANTS)
    draft = author_skill(tmp_path / "draft", "plants", CHARTS)
    selector = selector_with(selector_of(installed), [entry_of(draft)], [entry_of(installed)])
    assert str(installed) not in selector
    assert run_now(RankerTriggerJudge(selector, entry_of(draft))("draw a bar chart of sales")).triggered
