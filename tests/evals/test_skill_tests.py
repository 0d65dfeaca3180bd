"""A skill's own tests, really run in the sandbox."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from evals.authors import author_skill
from metier.errors import NotFoundError
from metier.evals import interpreters_with
from metier.evals.skill_tests import SkillTestResult, SkillTestStatus, find_skill_tests, run_skill_tests
from metier.runtime import Limits, Runner
from metier.testing import FakeRunner, run_now

SCRIPT = "import sys\nprint('hello', *sys.argv[1:])\nprint('careful', file=sys.stderr)\nsys.exit(len(sys.argv) - 1)\n"


def tried(tmp_path: Path, files: dict[str, str], **options: float) -> list[SkillTestResult]:
    folder = author_skill(tmp_path, "greeter", "Greets. Use when asked.", files={"scripts/greet.py": SCRIPT, **files})
    tests = find_skill_tests("greeter", str(folder))
    runner = Runner(interpreters=interpreters_with("pytest"))
    limits = Limits(**options) if options else None  # type: ignore[arg-type]
    return list(run_now(run_skill_tests(tests, runner, limits=limits)))


def page(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```", ""])


def test_a_command_prints_what_the_page_says(tmp_path: Path) -> None:
    (one,) = tried(tmp_path, {"tests/greet.md": page("$ python3 scripts/greet.py Ada", "hello Ada", "careful", "[1]")})
    assert (one.status, one.file, one.line, one.skill) == (SkillTestStatus.PASSED, "tests/greet.md", 2, "greeter")
    assert one.seconds > 0


def test_a_command_that_prints_something_else_fails_with_the_difference(tmp_path: Path) -> None:
    (one,) = tried(tmp_path, {"tests/greet.md": page("$ python3 scripts/greet.py", "goodbye", "careful")})
    assert one.status is SkillTestStatus.FAILED
    assert "-goodbye" in one.message
    assert "+hello" in one.message


def test_commands_of_a_page_share_a_scratch_folder_and_pages_do_not(tmp_path: Path) -> None:
    first = page('$ echo kept > "$HOME/note"', '$ cat "$HOME/note"', "kept")
    second = page('$ cat "$HOME/note"', "...", "[1]")
    assert [one.status for one in tried(tmp_path, {"tests/a.md": first, "tests/b.md": second})] == [SkillTestStatus.PASSED] * 3


def test_a_test_cannot_change_the_skill_nor_reach_the_network(tmp_path: Path) -> None:
    probe = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    files = {"tests/a.md": page("$ echo x > SKILL.md", "...", "[2]", f'$ python3 -c "{probe}" 2>&1 | tail -1', "...Error...")}
    assert [one.status for one in tried(tmp_path, files)] == [SkillTestStatus.PASSED] * 2
    assert "Greets" in (tmp_path / "greeter/SKILL.md").read_text()


def test_a_broken_command_does_not_stop_the_next(tmp_path: Path) -> None:
    rows = tried(tmp_path, {"tests/a.md": page('$ echo "unfinished', "...", "[2]", "$ echo next", "next")})
    assert [one.status for one in rows] == [SkillTestStatus.PASSED] * 2


def test_a_page_can_skip_its_rest(tmp_path: Path) -> None:
    rows = tried(tmp_path, {"tests/a.md": page("$ echo before", "before", "$ exit 80", "$ false")})
    assert [one.status for one in rows] == [SkillTestStatus.PASSED, SkillTestStatus.SKIPPED, SkillTestStatus.SKIPPED]


def test_a_page_that_takes_too_long_is_stopped_and_said_so(tmp_path: Path) -> None:
    (one,) = tried(tmp_path, {"tests/a.md": page("$ sleep 60")}, seconds=0.5)
    assert one.status is SkillTestStatus.ERROR
    assert "timed out after" in one.message


def test_pytest_files_are_run_with_the_scripts_importable(tmp_path: Path) -> None:
    tests = """
        import pytest

        def test_right():
            import adding
            assert adding.add(1, 2) == 3

        def test_wrong():
            assert 1 == 2, "one is not two"

        @pytest.mark.skip(reason="later")
        def test_later(): ...

        @pytest.mark.parametrize("n", [1, 2])
        def test_each(n): ...
    """
    files = {"scripts/adding.py": "def add(a, b): return a + b\n", "tests/test_adding.py": textwrap.dedent(tests)}
    rows = {one.name: one for one in tried(tmp_path, files)}
    assert {name: one.status for name, one in rows.items()} == {
        "test_right": SkillTestStatus.PASSED, "test_wrong": SkillTestStatus.FAILED, "test_later": SkillTestStatus.SKIPPED,
        "test_each[1]": SkillTestStatus.PASSED, "test_each[2]": SkillTestStatus.PASSED,
    }  # fmt: skip
    assert "one is not two" in rows["test_wrong"].message
    assert rows["test_wrong"].line == 8


def test_a_pytest_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (one,) = tried(tmp_path, {"tests/test_broken.py": "import nothing_of_that_name\n"})
    assert (one.status, one.message) == (SkillTestStatus.ERROR, "ModuleNotFoundError: No module named 'nothing_of_that_name'")
    (one,) = tried(tmp_path, {"tests/test_broken.py": "def broken(:\n"})
    assert (one.status, one.message.split("\n")[-1]) == (SkillTestStatus.ERROR, "SyntaxError: invalid syntax")
    assert "import_path" not in one.message


def test_tests_that_write_their_own_report_are_not_believed(tmp_path: Path) -> None:
    forged = """
        import json, os
        with open(os.environ["HOME"] + "/report.json", "w") as file:
            json.dump({"code": 0, "tests": [{"name": 7, "status": "splendid", "seconds": []}]}, file)
        os._exit(0)
    """
    (one,) = tried(tmp_path, {"tests/test_forged.py": textwrap.dedent(forged)})
    assert one.status is SkillTestStatus.ERROR


def test_a_file_without_tests_is_an_error_and_not_a_success(tmp_path: Path) -> None:
    (one,) = tried(tmp_path, {"tests/test_nothing.py": "x = 1\n"})
    assert (one.status, "found no test" in one.message) == (SkillTestStatus.ERROR, True)


def test_data_and_pages_without_commands_are_not_tests(tmp_path: Path) -> None:
    files = {
        "tests/README.md": "# About\n",
        "tests/data.csv": "a\n",
        "tests/x.md": page("$ true"),
        "docs/y.md": page("$ false"),
    }
    folder = author_skill(tmp_path, "greeter", "Greets. Use when asked.", files=files)
    assert [tests.file for tests in find_skill_tests("greeter", str(folder))] == ["tests/x.md"]


def test_a_skill_without_tests_gets_a_hint_how_to_add_some(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="greeter has no tests"):
        find_skill_tests("greeter", str(author_skill(tmp_path, "greeter", "Greets.")))


def test_a_runner_that_answers_nonsense_is_an_error(tmp_path: Path) -> None:
    folder = author_skill(tmp_path, "greeter", "Greets.", files={"tests/a.md": page("$ true"), "tests/test_b.py": ""})
    for said in ("", "null", "[[]]", '{"a": 1}'):
        rows = run_now(run_skill_tests(find_skill_tests("greeter", str(folder)), FakeRunner(said)))
        assert [one.status for one in rows] == [SkillTestStatus.ERROR] * 2, said


def test_files_are_tested_at_once(tmp_path: Path) -> None:
    """Each page waits for the other's start, so one after the other would never end."""
    import asyncio

    folder = author_skill(tmp_path, "greeter", "Greets.", files={f"tests/{name}.md": page("$ true") for name in "ab"})
    inside = 0
    met = asyncio.Event()

    class Meeting(FakeRunner):
        async def run(self, run):  # type: ignore[no-untyped-def]
            nonlocal inside
            inside += 1
            if inside == 2:
                met.set()
            await asyncio.wait_for(met.wait(), 5)
            return await super().run(run)

    answer = '[{"code": 0, "output": "", "seconds": 0.1}]'
    rows = run_now(run_skill_tests(find_skill_tests("greeter", str(folder)), Meeting(answer), parallel=2))
    assert [one.status for one in rows] == [SkillTestStatus.PASSED] * 2
