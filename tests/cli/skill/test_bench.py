"""`metier skill bench`, from a file of requests, from evals, and with wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.shell import Shell


@pytest.fixture
def library(shell: Shell) -> Shell:
    shell.skill("poems", description="Writes poems. Use when the user asks for a poem.")
    shell.skill("songs", description="Writes songs. Use when the user asks for a song.")
    return shell


def requests(shell: Shell, *rows: object) -> str:
    file = shell.project / "requests.jsonl"
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return str(file)


def test_requests_of_a_file_are_measured(library: Shell, tmp_path: Path) -> None:
    file = requests(library, {"request": "write a poem", "skill": "poems"}, "", {"request": "a song please", "skill": "songs"})
    page = tmp_path / "found.html"
    ran = library("skill", "bench", "--requests", file, "--html", str(page)).ok()
    assert ran.out.startswith("2 requests to ")
    assert "metier         100%     100%    1.000" in ran.out
    assert "SQLite FTS5" in ran.out
    assert page.read_text().startswith("<!doctype html>")
    assert library("skill", "bench", "--requests", file, "--json").data["rankers"][0]["first"] == 2


def test_the_evals_of_skills_are_the_requests_by_default(library: Shell) -> None:
    ran = library("skill", "bench", "--agent", "codex", "--json").ok()
    assert ran.data["requests"] > 10
    assert [one["name"] for one in ran.data["rankers"]][-1] == "what codex shows"


@pytest.mark.parametrize(("row", "said"), [
    ("{", "requests.jsonl:1: not a request"), ('{"request": "x"}', "requests.jsonl:1: not a request"), ("7", "not a request"),
    ('{"request": "x", "skill": "nosuch"}', "requests.jsonl:1: there is no skill 'nosuch'"),
])  # fmt: skip
def test_a_wrong_line_is_named(library: Shell, row: str, said: str) -> None:
    ran = library("skill", "bench", "--requests", requests(library, row))
    assert ran.code in (2, 3)
    assert said in ran.err


def test_a_missing_file_and_no_requests_are_errors_with_a_hint(library: Shell) -> None:
    assert library("skill", "bench", "--requests", "none.jsonl").err.startswith("error: cannot read none.jsonl")
    empty = library("skill", "bench", "--requests", requests(library))
    assert "hint: write evals with `metier skill eval NAME --init`, or pass --requests FILE" in empty.err
