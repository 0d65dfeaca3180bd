"""`metier skill select`: which skills fit a request, and why."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from cli.shell import Shell

needs_the_extra = pytest.mark.skipif(find_spec("all_minilm_l6_v2") is None, reason="needs the extra `semantic`")


@pytest.fixture(autouse=True)
def _python(shell: Shell) -> None:
    # Two of the bundled skills need it.
    shell.install("python3")


def test_the_right_bundled_skill_is_picked_for_a_request(shell: Shell) -> None:
    found = shell("skill", "select", "plot the monthly sales in sales.csv").ok()
    assert found.out.startswith("✓ data-analysis")
    assert "of 5 skills" in found.out


def test_a_request_that_fits_nothing_activates_nothing(shell: Shell) -> None:
    found = shell("skill", "select", "how old was Mozart when he died").ok()
    assert "None of 5 skills fits well enough" in found.out


def test_a_limit_returns_the_best_with_their_decisions(shell: Shell) -> None:
    rows = shell("skill", "select", "review my pull request", "-k", "3", "--json").data["selected"]
    assert len(rows) == 3
    assert (rows[0]["name"], rows[0]["decision"]) == ("code-review", "activate")
    assert {row["decision"] for row in rows} <= {"activate", "suggest", "nothing"}
    assert all(0 <= row["score"] <= 1 and 0 <= row["confidence"] <= 1 and row["reason"] for row in rows)


def test_explaining_shows_every_signal(shell: Shell) -> None:
    plain = shell("skill", "select", "review my pull request").ok().out
    explained = shell("skill", "select", "review my pull request", "--explain").ok().out
    assert len(explained.splitlines()) > len(plain.splitlines()) + 3


def test_a_name_in_the_request_settles_it(shell: Shell) -> None:
    assert shell("skill", "select", "$hello-world for me").ok().out.startswith("✓ hello-world")
    assert shell("skill", "select", "/web-scraping now").ok().out.startswith("✓ web-scraping")


def test_a_long_request_is_read_from_standard_input(shell: Shell, tmp_path: Path) -> None:
    task = tmp_path / "task.txt"
    task.write_text("Here is the context of our team. " * 200 + "Please draw a bar chart of the sales in this CSV file.")
    assert shell("skill", "select", "-", stdin=str(task)).ok().out.startswith("✓ data-analysis")


def test_an_empty_request_is_a_usage_error(shell: Shell) -> None:
    shell("skill", "select", "  ").failed(2, "the request is empty")
    shell("skill", "select").failed(2, "the request is empty", "metier skill select")


def test_disabled_and_hidden_skills_are_never_picked(shell: Shell) -> None:
    shell.skill("secret", head="disable-model-invocation: true\n", description="Waters the plants. Use when they are dry.")
    assert "secret" not in shell("skill", "select", "water the dry plants", "-k", "20").ok().out
    shell("skill", "disable", "data-analysis").ok()
    assert "data-analysis" not in shell("skill", "select", "plot sales.csv", "-k", "20").ok().out


def test_the_index_is_kept_and_a_new_skill_is_found_at_once(shell: Shell) -> None:
    shell("skill", "select", "anything").ok()
    index = shell.metier / "cache" / "selection.index"
    assert index.exists()
    shell.skill("plants", description="Waters the plants in the office. Use when the user says that they are dry.")
    assert shell("skill", "select", "the office plants are dry, water them").ok().out.startswith("✓ plants")


def test_a_broken_index_is_built_anew(shell: Shell) -> None:
    shell("skill", "select", "anything").ok()
    (shell.metier / "cache" / "selection.index").write_bytes(b"broken")
    assert shell("skill", "select", "draw a chart of the data in sales.csv").ok().out.startswith("✓ data-analysis")


@needs_the_extra
def test_by_meaning_other_words_for_the_same_are_found(shell: Shell) -> None:
    shell.skill("plants", description="Waters the plants in the office. Use when they are dry.")
    asked = ("skill", "select", "the ficus next to my desk is thirsty", "-k", "1")
    found = shell(*asked, "--semantic", "--explain").ok().out
    assert "plants" in found.splitlines()[0]
    assert "sentence model" in found
    assert (shell.metier / "cache" / "selection.index.embeddings").exists()
    assert "plants" not in shell(*asked).ok().out


@needs_the_extra
def test_the_setting_makes_it_the_rule_and_the_option_the_exception(shell: Shell) -> None:
    shell("config", "set", "selection.semantic", "true").ok()
    asked = ("skill", "select", "draw a chart of the data in sales.csv", "--explain")
    assert "sentence model" in shell(*asked).ok().out
    assert "sentence model" not in shell(*asked, "--words").ok().out


@pytest.mark.parametrize(
    ("request_text", "names"),
    [
        ("plot sales.csv", ["data-analysis"]), ("plot the sales in sales.csv", ["data-analysis"]),
        ("chart of sales.csv", ["data-analysis"]), ("review my PR", ["code-review"]), ("fix the bug in login.py", []),
        ("fix the failing test", []), ("write a poem", []), ("draw lots", []), ("plot of the novel Emma", []),
    ],
)  # fmt: skip
def test_short_requests_in_an_empty_home(shell: Shell, request_text: str, names: list[str]) -> None:
    assert [each["name"] for each in shell("skill", "select", request_text, "--json").data["selected"]] == names
