"""The report as a page: complete, self-contained, and deaf to what skills and models say."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from metier.evals.charts import Bar, bars
from metier.evals.grades import Grade
from metier.evals.html_report import render_html
from metier.evals.outputs import OutputReport
from metier.evals.run_task import TaskResult
from metier.evals.skill_tests import SkillTestResult, SkillTestStatus
from metier.evals.summary import GradedRun, find_flags, summarize
from metier.evals.triggers import JudgeChoice, Split, TriggerReport, TriggerResult

EVIL = "<script>alert(1)</script>\"'&\u202e\x1b"
_VOID = {"meta", "br"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "style", "onload")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def everything() -> str:
    rows = tuple(
        TriggerResult(query=EVIL, should_trigger=True, triggers=passed, runs=1, split=Split.TRAIN, passed=passed,
            choice=JudgeChoice(triggered=passed, winner=EVIL, why=EVIL, own=EVIL))
        for passed in (True, False)
    )  # fmt: skip
    trials = [
        SkillTestResult(skill=EVIL, file=EVIL, name=EVIL, status=status, message=EVIL, seconds=0.1)
        for status in SkillTestStatus
    ]
    arms = ("with_skill", "without_skill")
    done = [
        GradedRun(case=EVIL, variant=arm, run=run, result=TaskResult(answer=EVIL, tokens=10, seconds=1.0),
             grades=(Grade(text=EVIL, passed=arm == arms[0] or run == 2, evidence=EVIL),))
        for arm in arms for run in (1, 2)
    ]  # fmt: skip
    report = OutputReport(
        skill=EVIL, model=EVIL, variants=arms, done=tuple(done), summary=summarize(done, arms), flags=find_flags(done, arms)
    )
    return render_html(EVIL, triggers=[TriggerReport(skill=EVIL, judge=EVIL, rows=rows)], tests=trials, outputs=[report])


def test_nothing_that_was_said_becomes_markup() -> None:
    text = everything()
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    assert "script" not in tags.seen
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_the_page_needs_nothing_from_anywhere() -> None:
    text = everything()
    tags = Tags()
    tags.feed(text)
    assert tags.links == []
    assert not re.search(r"url\(|@import|https?://|<link|<img", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_the_page_shows_charts_numbers_and_reasons() -> None:
    text = everything()
    assert text.count("<svg") == 3
    for words in (
        "Does it trigger?",
        "Do its scripts work?",
        "Does it help?",
        "difference",
        "+50%",
        "1 of 2",
        "passes only with",
    ):
        assert words in text, words


def test_a_whisker_is_drawn_where_there_is_a_spread() -> None:
    deterministic = bars([Bar(label="a", share=0.5, text="50%")], "t")
    wavering = bars([Bar(label="a", share=0.5, text="50%", spread=0.2)], "t")
    assert ("whisker" in deterministic, "whisker" in wavering) == (False, True)


def test_bars_never_leave_their_track() -> None:
    for share in (-1.0, 0.0, 0.5, 1.0, 7.0):
        drawn = bars([Bar(label="a", share=share, text="", spread=0.3)], "t")
        places = [float(found) for found in re.findall(r'(?:width|x1|x2)="([\d.-]+)%"', drawn)]
        assert len(places) == 8
        assert all(0 <= place <= 100 for place in places)


def test_a_chart_is_as_wide_as_the_page_and_its_words_keep_their_size() -> None:
    drawn = bars([Bar(label="a", share=0.5, text="50%")], "t")
    assert "viewBox" not in drawn
    assert 'width="100%"' in drawn


def test_an_empty_report_is_still_a_page() -> None:
    assert "<h1>Evals</h1>" in render_html("Evals")
