"""Skills that a scripted model follows through the engine, step by step, to a checked result on disk.

Six are bundled. Four are ours, in the style of published ones: a git review, a report, a chart from a CSV, a refactoring.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from builders import app_in
from engine_builders import finished, now, of, turn
from metier.agents.events import Event, ToolCallFinished
from metier.runtime import ActionTaken, ApprovalAnswer, Question
from metier.testing import ModelAnswer, ModelServer, calls, says, skill_folder

SALES = """\
month,region,sales
2026-01,north,120
2026-02,north,150
2026-03,north,90
2026-01,south,80
2026-02,south,60
2026-03,south,95
"""


class Follower:
    """A home, a workspace, and what happened when a scripted model worked in it."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.folder = tmp_path / "project"
        self.folder.mkdir()
        self.asked: list[str] = []
        self.refuse: tuple[str, ...] = ()
        self.events: list[Event] = []
        self.applied: set[str] = set()
        self.prompt = ""

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(mode)

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "init.defaultBranch=main"]
        done = subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout

    def follow(self, message: str, *answers: ModelAnswer, **variables: str) -> tuple[str, ...]:
        """Runs one turn, applies what the model changed, and returns the results of its tools."""
        with ModelServer(answers) as model:
            given = {"METIER_MODEL_NAME": "gpt-4o", "METIER_MODEL_BASE_URL": model.url, "OPENAI_API_KEY": "a-key", **variables}
            app = app_in(self.tmp_path, variables=given)
            workspace = app.workspaces.open(str(self.folder), write=True)

            async def work() -> list[Event]:
                engine = app.conversations.engine(approve=self._approve, workspace=workspace)
                async with engine:
                    return await turn(engine, message)

            self.events = now(work())
            self.prompt = model.requests[0].system
            result = workspace.apply()
            assert result.refused == ()
            self.applied = {change.path for change in result.applied if not change.is_folder}
            workspace.close()
            assert finished(self.events).reason == ""
            assert len(model.requests) == len(answers), model.requests[-1].results[-1:]
            return model.requests[-1].results

    def _approve(self, question: Question) -> ApprovalAnswer:
        self.asked.append(str(question.request))
        return ApprovalAnswer.NO if str(question.request) in self.refuse else ApprovalAnswer.ONCE

    @property
    def taken(self) -> list[str]:
        return [event.tool for event in of(self.events, ActionTaken)]


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


def tools_of(events: list[Event]) -> list[tuple[str, bool]]:
    return [(event.tool, event.ok) for event in of(events, ToolCallFinished)]


def ours(tmp_path: Path, name: str, tools: str, body: str, **files: str) -> None:
    skill_folder(tmp_path / "home/.metier/skills", name, head=f"allowed-tools: {tools}", body=body, files=files)


def test_code_review_finds_the_planted_bug_with_git_and_the_files_around_it(follower: Follower) -> None:
    follower.git("init", "-q")
    follower.write("shop/price.py", "def total(items):\n    return sum(item.price for item in items)\n")
    follower.write("shop/cart.py", "from shop.price import total\n\n\ndef pay(cart):\n    return total(cart.items)\n")
    follower.git("add", "-A")
    follower.git("commit", "-qm", "Add the shop")
    follower.write("shop/price.py", "def total(items):\n    return sum(item.price for item in items[1:])\n")
    results = follower.follow(
        "$code-review review my changes",
        calls("run_command", command="git status --short && git diff HEAD"),
        calls("read_file", path="shop/price.py"),
        calls("search_files", pattern=r"\btotal\(", glob="*.py"),
        calls("read_skill_resource", skill_name="code-review", resource_name="references/checklist.md"),
        calls("read_skill_resource", skill_name="code-review", resource_name="assets/report.md"),
        calls("write_file", path="review.md", content="**major** `shop/price.py:2`: the first item is free.\n"),
        says("One major finding, in review.md."),
    )
    assert " M shop/price.py" in results[0] and "+    return sum(item.price for item in items[1:])" in results[0]
    assert "2\t    return sum(item.price for item in items[1:])" in results[1]
    assert "shop/cart.py:5:    return total(cart.items)" in results[2]
    assert (follower.folder / "review.md").read_text().startswith("**major** `shop/price.py:2`")
    # The skill asks for git and for reading; the report is a change, and the user is asked.
    assert follower.asked == ["Write(review.md)"]
    assert follower.applied == {"review.md"}


def test_data_analysis_draws_the_chart_of_the_readme(follower: Follower) -> None:
    follower.write("sales.csv", SALES)
    results = follower.follow(
        "plot the monthly sales in sales.csv",
        calls("data-analysis_analyze", command="summary", file="sales.csv"),
        calls("data-analysis_analyze", command="chart", file="sales.csv", kind="line", x="month", y=["sales"], aggregate="sum",
              output="sales.svg", title="Sales fell in March"),
        says("Sales fell in March; see sales.svg."),
    )  # fmt: skip
    assert '"rows": 6' in results[0]
    chart = (follower.folder / "sales.svg").read_text()
    assert chart.startswith("<svg") or "<svg" in chart[:200]
    assert "Sales fell in March" in chart
    assert follower.asked == []
    assert follower.applied == {"sales.svg"}


def test_data_analysis_can_be_followed_by_a_shell_command_too(follower: Follower) -> None:
    follower.write("sales.csv", SALES)
    chart = "chart sales.csv --kind bar --x region --y sales --output regions.svg"
    results = follower.follow(
        "$data-analysis compare the regions in sales.csv",
        calls("run_command", command='python3 "$SKILL_DIR/scripts/analyze.py" summary sales.csv'),
        calls("run_command", command=f'python3 "$SKILL_DIR/scripts/analyze.py" {chart}'),
        says("North is ahead."),
    )
    assert '"rows": 6' in results[0]
    assert "<svg" in (follower.folder / "regions.svg").read_text()


def test_gh_writes_the_body_to_a_file_and_passes_it_on(follower: Follower) -> None:
    """A stand-in for gh records its arguments: the real one needs the network."""
    follower.write("bin/gh", '#!/bin/sh\nprintf "%s\\n" "$GH_PROMPT_DISABLED" "$@" >> gh-calls.txt\necho 45\n', 0o755)
    body = "Steps: open an empty file. `cat` prints nothing, then it crashes.\n"
    create = 'gh issue create --repo ada/shop --title "Crash on empty file" --body-file issue.md --label bug'
    before = "export GH_PROMPT_DISABLED=1 GH_PAGER=cat NO_COLOR=1 PATH=$PWD/bin:$PATH"
    follower.follow(
        "$gh file a bug about the crash on an empty file",
        calls("write_file", path="issue.md", content=body),
        calls("run_command", command=f"{before}; gh auth status && gh label list --repo ada/shop --json name"),
        calls("run_command", command=f"{before}; {create}"),
        says("Created issue 45."),
        PATH=f"{follower.folder}/bin:/usr/bin:/bin",
    )
    assert (follower.folder / "issue.md").read_text() == body
    recorded = (follower.folder / "gh-calls.txt").read_text().splitlines()
    assert recorded[-10:] == ["1", "issue", "create", "--repo", "ada/shop", "--title", "Crash on empty file", "--body-file",
                              "issue.md", "--label", "bug"][-10:]  # fmt: skip
    # What others will see is asked: a line with variables is no plain `gh`.
    assert len(follower.asked) == 3


def test_hello_world_needs_no_tool_and_the_answer_is_kept(follower: Follower) -> None:
    follower.follow("$hello-world Hi, I'm Ada! Are my skills working?", says("Hello, Ada!\nThe hello-world skill is active."))
    assert "<skill_content" in follower.prompt or "Hello, world" in follower.prompt
    assert tools_of(follower.events) == []
    with_answer = list((follower.tmp_path / "home/.metier").glob("*.sqlite*"))
    assert any(b"The hello-world skill is active." in file.read_bytes() for file in with_answer)


def test_skill_authoring_writes_a_skill_that_its_own_commands_accept(follower: Follower) -> None:
    skill = (
        "---\nname: release-notes\ndescription: Writes release notes from merged changes. Use when the user prepares a release "
        "or asks what changed since a tag.\nlicense: MIT\n---\n\n# Release notes\n\n1. Run `git log TAG..HEAD --oneline`.\n"
        "2. Group the subjects by what a user would notice.\n3. Write `NOTES.md`, newest first.\n"
    )
    results = follower.follow(
        "$skill-authoring make a skill for release notes",
        calls("read_skill_resource", skill_name="skill-authoring", resource_name="assets/skill-template.md"),
        calls("write_file", path="release-notes/SKILL.md", content=skill.replace("name: release-notes", "name: Release Notes")),
        calls("run_command", command="metier skill validate release-notes"),
        calls("edit_file", path="release-notes/SKILL.md", old_text="name: Release Notes", new_text="name: release-notes"),
        calls("run_command", command="metier skill validate release-notes && metier skill lint release-notes"),
        says("The skill is in release-notes/."),
    )
    assert 'ended="exit code 0"' not in results[2] and "name" in results[2]
    assert 'ended="exit code 0"' in results[4], results[4]
    assert (follower.folder / "release-notes/SKILL.md").read_text() == skill
    assert follower.asked == []


def test_web_scraping_turns_a_saved_page_into_data(follower: Follower) -> None:
    row = "<tr><td>{}</td><td>{}</td></tr>"
    rows = "".join(row.format(*each) for each in (("Oslo", 5), ("Rome", 21)))
    follower.write("page.html", f"<html><main><table><tr><th>city</th><th>degrees</th></tr>{rows}</table></main></html>")
    results = follower.follow(
        "$web-scraping get the table out of page.html",
        calls(
            "web-scraping_scrape", from_file="page.html", base_url="https://example.com/", get="tables", output="cities.json"
        ),
        calls("read_file", path="cities.json"),
        says("Two cities, in cities.json."),
    )
    assert "Oslo" in results[1]
    page = json.loads((follower.folder / "cities.json").read_text())["pages"][0]
    assert page["tables"][0]["rows"] == [["Oslo", "5"], ["Rome", "21"]]
    assert follower.asked == []


REVIEW = """# Git review

1. `git log --oneline -20`, then `git show` for the commit in question.
2. Read each changed file as a whole.
3. Write `REVIEW.md`: one line for each finding, `path:line: text`.
"""


def test_a_git_review_of_a_commit_range(follower: Follower) -> None:
    ours(follower.tmp_path, "git-review", "Bash(git:*) Read Write(REVIEW.md)", REVIEW)
    follower.git("init", "-q")
    follower.write("auth.py", "def may(user):\n    return user.is_admin\n")
    follower.git("add", "-A")
    follower.git("commit", "-qm", "Check admins")
    follower.write("auth.py", "def may(user):\n    return True  # for the demo\n")
    follower.git("commit", "-qam", "Prepare the demo")
    results = follower.follow(
        "$git-review look at the last commit",
        calls("run_command", command="git log --oneline -20"),
        calls("run_command", command="git show HEAD"),
        calls("read_file", path="auth.py"),
        calls("write_file", path="REVIEW.md", content="auth.py:2: everyone is an admin\n"),
        says("One finding."),
    )
    assert "Prepare the demo" in results[0]
    assert "-    return user.is_admin" in results[1]
    assert (follower.folder / "REVIEW.md").read_text() == "auth.py:2: everyone is an admin\n"
    assert follower.asked == []
    # Nothing of the repository itself was changed.
    assert follower.git("status", "--short").strip() == "?? REVIEW.md"


REPORT = """# Weekly report

Collect every note below `notes/`, newest first, and write `out/report.md` with a heading, one bullet for each note and the
total of the hours. Never change the notes.
"""


def test_a_report_from_notes(follower: Follower) -> None:
    ours(follower.tmp_path, "weekly-report", "Glob Read Write(out/*)", REPORT)
    for day, hours in (("monday", 3), ("tuesday", 5)):
        follower.write(f"notes/{day}.md", f"# {day}\nhours: {hours}\nwrote tests\n")
    follower.write("notes/.gitignore", "draft-*\n")
    follower.write("notes/draft-x.md", "hours: 99\n")
    follower.refuse = ("Edit(notes/monday.md)",)
    results = follower.follow(
        "$weekly-report write the report",
        calls("list_files", path="notes"),
        calls("search_files", pattern="^hours: ", path="notes"),
        calls("write_file", path="out/report.md", content="# Week\n- tuesday: 5 h\n- monday: 3 h\n\nTotal: 8 h\n"),
        calls("edit_file", path="notes/monday.md", old_text="hours: 3", new_text="hours: 4"),
        says("The report is in out/report.md; the notes stayed as they were."),
    )
    assert "notes/monday.md" in results[0] and "draft" not in results[0] + results[1]
    assert (follower.folder / "out/report.md").read_text().endswith("Total: 8 h\n")
    assert follower.applied == {"out/report.md"}
    # The skill may write only below out/: the rest is asked, and the user said no.
    assert follower.asked == ["Edit(notes/monday.md)"]


CHART = """# CSV chart

Read the file with Python's `csv` module, add up the values of each group, and write a bar chart as SVG beside the file.
Use only the standard library.
"""
CODE = """\
import csv
from collections import Counter
totals = Counter()
with open("sales.csv", newline="") as file:
    for row in csv.DictReader(file):
        totals[row["region"]] += float(row["sales"])
most = max(totals.values())
bars = "".join(
    f'<rect x="{40 * n}" width="30" height="{100 * v / most:.0f}"><title>{k}: {v:g}</title></rect>'
    for n, (k, v) in enumerate(sorted(totals.items()))
)
open("sales-by-region.svg", "w").write(f'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="100">{bars}</svg>')
print(dict(totals))
"""


def test_a_chart_drawn_by_code(follower: Follower) -> None:
    ours(follower.tmp_path, "csv-chart", "Read Python", CHART)
    follower.write("sales.csv", SALES)
    results = follower.follow(
        "$csv-chart sales by region",
        calls("read_file", path="sales.csv", limit=3),
        calls("run_code", code=CODE),
        says("North sold 360, south 235."),
    )
    assert "{'north': 360.0, 'south': 235.0}" in results[1]
    assert "<title>north: 360</title>" in (follower.folder / "sales-by-region.svg").read_text()
    assert follower.asked == []


REFACTOR = """# Rename safely

1. Find every use: search for the name as a word.
2. Change each file with an exact edit.
3. Run the tests: `python3 test_FILE.py`. If they fail, undo and report.
"""


TESTS = """\
import unittest
from area import calc

class T(unittest.TestCase):
    def test(self):
        self.assertEqual(calc(2, 3), 6)

if __name__ == "__main__":
    unittest.main()
"""


def test_a_refactoring_that_ends_with_green_tests(follower: Follower) -> None:
    ours(follower.tmp_path, "rename-safely", "Grep Read Edit Bash(python3:*)", REFACTOR)
    follower.write("area.py", "def calc(a, b):\n    return a * b\n")
    follower.write("test_area.py", TESTS)
    results = follower.follow(
        "$rename-safely rename calc to area",
        calls("search_files", pattern=r"\bcalc\b", output="counts"),
        calls("edit_file", path="area.py", old_text="def calc(", new_text="def area("),
        calls("edit_file", path="test_area.py", old_text="calc", new_text="area"),
        calls("edit_file", path="test_area.py", old_text="calc", new_text="area", replace_all=True),
        calls("run_command", command="python3 test_area.py"),
        says("Renamed; the tests pass."),
    )
    assert "area.py:1\ntest_area.py:2" in results[0]
    assert "is 2 times in 'test_area.py' (lines 2, 6)" in results[2]
    assert "OK" in results[4]
    assert (follower.folder / "area.py").read_text() == "def area(a, b):\n    return a * b\n"
    assert follower.applied == {"area.py", "test_area.py"}
    assert follower.asked == []


def test_every_general_call_of_a_turn_is_an_event(follower: Follower) -> None:
    follower.write("a.txt", "x\n")
    follower.follow(
        "read a.txt", calls("read_file", path="a.txt"), calls("run_command", command="wc -l a.txt"), says("One line.")
    )
    assert follower.taken == ["read_file", "run_command"]
    assert follower.asked == ["Bash(wc -l a.txt)"]
