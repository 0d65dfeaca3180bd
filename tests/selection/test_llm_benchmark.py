"""The harness that measures a model, with a scripted model over HTTP; then its recording without any model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.llm_selection import main
from metier.sources import BUNDLED
from metier.testing import ModelAnswer, ModelRequest, ModelServer, fails, says

REQUESTS = Path(__file__).parents[1] / "data" / "selection" / "bundled_requests.jsonl"
SHORT = [
    {"query": "plot sales.csv by month", "gold": ["data-analysis"], "kind": "task"},
    {"query": "is this diff safe to merge?", "gold": ["code-review"], "kind": "question"},
    {"query": "what is the capital of Australia", "gold": []},
]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["--skills", str(BUNDLED), "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def reader(request: ModelRequest) -> ModelAnswer:
    """Answers rightly about tables, wrongly about diffs, and "none" to the rest."""
    listed = request.user.split("<skills>\n")[1].split("\n</skills>")[0].splitlines()
    wanted = {"plot": "data-analysis", "is": "web-scraping"}.get(request.user.split("<request>\n")[1].split()[0], "")
    numbers = [line.partition(".")[0] for line in listed if line.split(". ")[1].startswith(f"{wanted}:")]
    return says(", ".join(numbers) or "none", tokens=(700, 3))


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    file = tmp_path / "requests.jsonl"
    file.write_text("\n".join(map(json.dumps, SHORT)), encoding="utf-8")
    return file


def test_a_model_is_measured_and_its_recording_gives_the_same(
    tmp_path: Path, asked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers.jsonl"
    with ModelServer(reader) as model:
        given = ("--model", "m", "--base-url", model.url, "--record", str(answers))
        first = run(capsys, "--requests", str(asked), *given)
    tables = first["tables"]
    (order,) = (rows for title, rows in tables.items() if title.startswith("Order"))
    by_kind = {row["requests"]: (row["R@1 before"], row["R@1 after"]) for row in order}
    assert by_kind == {"all": ("100.0", "50.0"), "question": ("100.0", "0.0"), "task": ("100.0", "100.0")}
    assert tables["Requests that fit no skill"] == [{"count": "1", "the model chose none, %": "100.0"}]
    (cost,) = tables["Cost per request"]
    assert (cost["input tokens"], cost["output tokens"], cost["local order kept"]) == ("700", "3.0", "0")
    assert str(BUNDLED) not in answers.read_text(encoding="utf-8")
    assert run(capsys, "--requests", str(asked), "--replay", str(answers))["tables"] == tables


def test_a_recording_is_read_by_names_if_the_order_has_changed(
    tmp_path: Path, asked: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = [{"request": one["query"], "text": "9", "shortlist": ["other"], "names": one["gold"], "model": "m"} for one in SHORT]
    answers.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = run(capsys, "--requests", str(asked), "--replay", str(answers))["tables"]
    (order,) = (rows for title, rows in found.items() if title.startswith("Order"))
    assert order[0]["R@1 after"] == "100.0"
    assert found["Requests that fit no skill"][0]["the model chose none, %"] == "100.0"


def test_a_model_that_fails_ends_the_run_with_its_reason(asked: Path) -> None:
    with ModelServer(lambda request: fails(401, "wrong key")) as model, pytest.raises(SystemExit, match="wrong key"):
        main(["--skills", str(BUNDLED), "--requests", str(asked), "--model", "m", "--base-url", model.url])


@pytest.mark.parametrize("content", ["", "{}", "no json"])
def test_a_recording_without_an_answer_says_so(tmp_path: Path, asked: Path, content: str) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit, match=r"the recording"):
        main(["--skills", str(BUNDLED), "--requests", str(asked), "--replay", str(answers)])


def test_each_bundled_skill_has_requests() -> None:
    rows = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    assert {name for row in rows for name in row["gold"]} == {
        folder.name for folder in Path(BUNDLED).iterdir() if folder.is_dir()
    }
