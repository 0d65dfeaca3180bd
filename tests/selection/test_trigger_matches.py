from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metier.selection import MatchDecision, Selector
from selection.example_skills import EXAMPLES, sample


def greeter(**triggers: Any) -> Selector:
    return Selector([sample("hello-extended", "Greeting capabilities", triggers=triggers), *EXAMPLES])


@pytest.mark.parametrize("text", ["/pdf-forms go", "run $pdf-forms now", "use pdf-forms here", "use the pdf-forms skill"])
def test_a_named_skill_comes_first_and_is_activated(selector: Selector, text: str) -> None:
    best = selector.select(text + " for the slow SQL query with indexes").selected[0]
    assert (best.name, best.decision) == ("pdf-forms", MatchDecision.ACTIVATE)
    assert "named in the request" in best.reason


def test_a_path_is_not_a_mention() -> None:
    selector = Selector([sample("root", "Find the root of equations"), *EXAMPLES])
    found = selector.select("read /data/root and ./root and https://x.org/root", limit=5)
    assert all("named" not in match.reason for match in found)


@pytest.mark.parametrize(
    "text",
    [
        "GET /tasks returns 404",
        "the /tasks endpoint is slow",
        "I just finished /tasks, what is next?",
        "open ~/tasks/list.json and /tasks.json",
        "don't use load-test",
        "we run load-test servers in Ohio",
        "the load-test skill is broken",
        "we have no load-test data",
    ],
)
def test_a_path_a_report_or_a_compound_word_names_no_skill(text: str) -> None:
    selector = Selector([sample("tasks", "Lists chores"), sample("load-test", "Measures a server under load"), *EXAMPLES])
    assert all("named" not in match.reason for match in selector.select(text, limit=9))


@pytest.mark.parametrize(
    "text",
    [
        "load-test",
        "/load-test",
        "Look here. $load-test",
        "use load-test for it",
        "with the load-test skill",
        "try `load-test`.",
    ],
)
def test_a_skill_that_is_called_is_named(text: str) -> None:
    selector = Selector([sample("load-test", "Measures a server"), *EXAMPLES])
    assert "named" in selector.select(text, limit=1).selected[0].reason


def test_an_ordinary_word_that_is_a_name_is_not_a_mention() -> None:
    selector = Selector([sample("review", "Look over code"), *EXAMPLES])
    assert all("named" not in match.reason for match in selector.select("a review of last night's dinner", limit=5))
    assert selector.select("/review").selected[0].name == "review"


def test_a_keyword_calls_its_skill() -> None:
    best = greeter(keywords=["aloha"]).select("say aloha to Bob").selected[0]
    assert best.name == "hello-extended"
    assert "keyword 'aloha'" in best.reason


def test_a_keyword_inside_a_word_does_not_count() -> None:
    found = greeter(keywords=["hell"]).select("hello shell", limit=5)
    assert all("keyword" not in match.reason for match in found)


def test_a_whole_phrase_ranks_before_better_words() -> None:
    selector = greeter(keywords=["good morning vietnam"])
    found = selector.select("good morning vietnam, merge these pdf files", limit=2)
    assert [match.name for match in found] == ["hello-extended", "pdf-forms"]


def test_a_verb_alone_does_not_activate() -> None:
    found = greeter(verbs=["wave"]).select("wave", limit=1).selected[0]
    assert "verb 'wave'" in found.reason
    assert found.decision is not MatchDecision.ACTIVATE


def test_a_pattern_calls_its_skill_whatever_the_case() -> None:
    best = greeter(patterns=[r"greet\s+\w+"]).select("Please GREET Bob").selected[0]
    assert best.name == "hello-extended"


@pytest.mark.parametrize("hostile", ["(a+)+$", "(a|aa)+$", "(((a{1000}){1000}){1000})", "(", "(?=a)b", r"(a)\1", "x" * 5000])
def test_a_hostile_or_broken_pattern_neither_hangs_nor_fails(hostile: str) -> None:
    assert greeter(patterns=[hostile]).select("a" * 1500 + "!").selected == ()


def test_triggers_may_be_an_object_or_plain_words() -> None:
    as_object = sample("one", "", triggers=SimpleNamespace(keywords=["aloha"], verbs=[], patterns=[]))
    as_text = sample("two", "", triggers="servus, moin")
    selector = Selector([as_object, as_text, *EXAMPLES])
    assert selector.select("aloha").selected[0].name == "one"
    assert selector.select("moin moin").selected[0].name == "two"


def test_recent_use_breaks_a_tie() -> None:
    twins = [sample(f"twin-{place}", "Merge PDF files") for place in range(3)]
    selector = Selector(twins)
    assert selector.select("merge pdf files", limit=1, recent=["home#twin-2"]).selected[0].name == "twin-2"


def test_recent_use_alone_activates_nothing(selector: Selector) -> None:
    assert selector.select("good morning", recent=["home#sql-tuner"]).selected == ()


def test_recent_use_breaks_a_tie_of_skills_that_the_request_names() -> None:
    selector = Selector([sample(f"twin-{place}", "Merge PDF files") for place in range(3)])
    named = selector.select("use twin-0, twin-1 and twin-2", recent=["home#twin-2"])
    assert [match.name for match in named] == ["twin-2", "twin-0", "twin-1"]


@pytest.mark.parametrize(("text", "found"), [("banana", True), ("banana split", False), ("aaab", False)])
def test_an_end_of_text_in_a_nested_repeat_is_honoured(text: str, found: bool) -> None:
    reasons = [match.reason for match in greeter(patterns=["(a+)+$"]).select(text, limit=9)]
    assert any("pattern" in reason for reason in reasons) is found


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("阿罗哈", "请对他说阿罗哈吧"),
        ("アロハ", "みんなにアロハと伝えて"),
        ("자소서", "자소서를 봐줘"),
        ("Mahnung", "schreib eine Mahnung"),
    ],
)
def test_a_keyword_in_another_language_calls_its_skill(keyword: str, text: str) -> None:
    best = greeter(keywords=[keyword]).select(text).selected[0]
    assert best.name == "hello-extended"
    assert f"keyword '{keyword.lower()}'" in best.reason
