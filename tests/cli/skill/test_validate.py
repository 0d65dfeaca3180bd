"""`metier skill validate` and `lint`: text with the offending line, and the three verdicts."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from metier.sources import BUNDLED
from metier.spec import CODES


def test_a_valid_skill_is_one_line(shell: Shell) -> None:
    folder = shell.skill("pdf")
    assert shell("skill", "validate", "pdf").ok().out == f"✓ pdf  {folder}\n"


def test_the_offending_line_is_shown_under_the_problem_with_a_caret(shell: Shell) -> None:
    folder = shell.skill("pdf", head="unknown: key")
    ran = shell("skill", "validate", "pdf")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == f"✗ pdf  {folder}"
    assert lines[1].startswith("  SKILL.md:4:1: error SK1")
    assert lines[2] == "         4 | unknown: key"
    assert lines[3].rstrip() == "             ^"
    assert "`metier skill explain CODE`" in lines[-1]


def test_a_caret_points_into_a_long_line(shell: Shell) -> None:
    shell.skill("pdf", data=b"---\nname: pdf\ndescription: x\nmetadata: {" + b"a: b, " * 60 + b"c: [1, 2}\n---\n")
    lines = shell("skill", "validate", "pdf").out.splitlines()
    caret = next(line for line in lines if line.strip() == "^")
    line = lines[lines.index(caret) - 1]
    assert len(line) < 120
    assert caret.index("^") < len(line)


def test_a_caret_is_under_its_letter_in_any_alphabet(shell: Shell) -> None:
    shell.skill("pdf", data="---\nname: pdf\ndescription: x\nmetadata: {技能: [1, 2}\n---\n".encode())
    lines = shell("skill", "validate", "pdf").out.splitlines()
    caret = next(line for line in lines if line.strip() == "^")
    line = lines[lines.index(caret) - 1]
    pointed = "".join(char if char.isascii() else char + "." for char in line)[caret.index("^")]
    assert pointed == "}"


@pytest.mark.parametrize(("verdict", "code"), [("strict", 1), ("lenient", 0), ("compat", 1)])
def test_the_verdict_decides_what_an_unknown_key_is(shell: Shell, verdict: str, code: int) -> None:
    shell.skill("pdf", head="unknown: key")
    ran = shell("skill", "validate", "pdf", "--verdict", verdict, "--json")
    assert ran.code == code
    assert (ran.data["verdict"], ran.data["failed"]) == (verdict, code)


def test_strict_is_the_default(shell: Shell) -> None:
    shell.skill("pdf")
    assert shell("skill", "validate", "pdf", "--json").data["verdict"] == "strict"


def test_a_target_is_a_name_a_folder_a_file_or_many(shell: Shell) -> None:
    folder = shell.skill("pdf")
    shell.skill("chart")
    (shell.project / "pdf").mkdir()
    for target in ("pdf", str(folder), str(folder / "SKILL.md"), f"{folder}/"):
        rows = shell("skill", "validate", target, "--json").data["skills"]
        assert [row["folder"] for row in rows] == [str(folder)], target
    data = shell("skill", "validate", str(shell.skills), "--json").data
    assert (data["checked"], data["failed"]) == (2, 0)
    assert "2 checked, 0 failed" in shell("skill", "validate", str(shell.skills)).out
    assert shell("skill", "validate", "pdf", "pdf", str(folder), "--json").data["checked"] == 1


def test_without_a_target_the_current_folder_is_checked(shell: Shell) -> None:
    folder = shell.skill("pdf")
    for command in ("validate", "lint"):
        assert shell("skill", command, "--json", folder=folder).data["checked"] == 1
        assert shell("skill", command, "--json", folder=shell.skills).data["checked"] == 1
    shell("skill", "validate").failed(3, "No SKILL.md")


def test_every_invalid_file_is_reported(shell: Shell) -> None:
    shell.skill("good")
    shell.skill("bad", data=b"nothing")
    shell.skill("worse", data=b"\xff")
    ran = shell("skill", "validate", str(shell.skills), "--json")
    assert ran.code == 1
    assert {row["folder"].rpartition("/")[2]: row["ok"] for row in ran.data["skills"]} == {
        "good": True,
        "bad": False,
        "worse": False,
    }


def test_lint_advises_and_only_errors_fail(shell: Shell) -> None:
    shell.skill("vague", description="Does things.", body="See [x](references/none.md) and /home/me/file\n")
    ran = shell("skill", "lint", "vague", "--json")
    codes = {problem["code"] for row in ran.data["skills"] for problem in row["problems"]}
    assert ran.code == (1 if any(p["severity"] == "error" for row in ran.data["skills"] for p in row["problems"]) else 0)
    assert {code for code in codes if code.startswith("SK2")}
    assert codes <= CODES.keys()


def test_lint_sees_two_skills_that_say_the_same(shell: Shell) -> None:
    text = "Extracts tables from scanned invoices and writes them as spreadsheets. Use when an invoice must become a table."
    shell.skill("one", description=text)
    shell.skill("two", description=text)
    rows = shell("skill", "lint", str(shell.skills), "--json").data["skills"]
    assert all("SK217" in {problem["code"] for problem in row["problems"]} for row in rows)
    assert "SK217" not in shell("skill", "lint", "one").out


def test_the_bundled_skills_are_valid_and_lint_has_no_error(shell: Shell) -> None:
    assert shell("skill", "validate", BUNDLED).code == 0
    assert shell("skill", "lint", BUNDLED).code == 0
