"""`metier skill fix`: what is mechanical is repaired, the rest stays byte for byte."""

from __future__ import annotations

from cli.shell import Shell

BROKEN = (
    b"---\r\n# a comment\r\nname: Wrong\r\ndescription: Reads: pages. Use when asked.\r\nmetadata:\r\n  version: 1.0\r\n---\r\n"
)
BODY = b"\r\n# Body\t \r\n\x0b\xc3\xa9\n\nmixed line ends\r\n  \n"


def test_a_repair_keeps_the_body_and_the_comments_byte_for_byte(shell: Shell) -> None:
    file = shell.skill("pdf", data=BROKEN + BODY) / "SKILL.md"
    file.chmod(0o640)
    ran = shell("skill", "fix", "pdf").ok()
    after = file.read_bytes()
    assert after != BROKEN + BODY
    assert after.endswith(BODY)
    assert b"# a comment\r\n" in after
    assert b"name: pdf\r\n" in after
    assert file.stat().st_mode & 0o777 == 0o640
    assert "pdf: 3 changes" in ran.out
    assert shell("skill", "validate", "pdf").code == 0
    assert shell("skill", "fix", "pdf").ok().out == "pdf: nothing to repair\n"
    assert file.read_bytes() == after


def test_a_dry_run_shows_a_diff_and_changes_nothing(shell: Shell) -> None:
    file = shell.skill("pdf", data=BROKEN + BODY) / "SKILL.md"
    before = file.stat().st_mtime_ns
    ran = shell("skill", "fix", "--dry-run", "pdf")
    assert ran.code == 0
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (BROKEN + BODY, before)
    assert "would make 3 changes" in ran.out
    assert "\n-name: Wrong\n" in ran.out
    assert "\n+name: pdf\n" in ran.out
    data = shell("skill", "fix", "--dry-run", "pdf", "--json").data
    assert data["dry_run"] is True
    assert data["changed"] == 1
    assert data["skills"][0]["diff"].startswith("--- pdf/SKILL.md")


def test_a_diff_moves_no_cursor(shell: Shell) -> None:
    shell.skill("pdf", data=b"---\nname: Wrong\n# \x1b[2J\ndescription: x\n---\n")
    assert b"\x1b" not in shell("skill", "fix", "--dry-run", "pdf").raw


def test_problems_that_need_a_decision_are_left_and_counted(shell: Shell) -> None:
    shell.skill("pdf", data=b"---\nname: Pdf\nunknown: key\n---\n")
    ran = shell("skill", "fix", "pdf")
    assert ran.code == 1
    assert "errors remain; see `metier skill validate pdf`" in ran.out
    assert shell("skill", "fix", "pdf", "--json").data["failed"] == 1


def test_one_file_that_cannot_be_read_stops_no_other_repair(shell: Shell) -> None:
    (shell.skills / "aaa/SKILL.md").mkdir(parents=True)
    (shell.skills / "bbb").mkdir()
    (shell.skills / "bbb/SKILL.md").symlink_to("/etc/passwd")
    file = shell.skill("pdf", data=BROKEN) / "SKILL.md"
    ran = shell("skill", "fix", str(shell.skills), "--json")
    assert ran.code == 1
    assert {row["folder"].rpartition("/")[2]: row["ok"] for row in ran.data["skills"]} == {
        "aaa": False,
        "bbb": False,
        "pdf": True,
    }
    assert b"name: pdf" in file.read_bytes()


def test_a_bundled_skill_is_not_repaired(shell: Shell) -> None:
    shell("skill", "fix", "hello-world").failed(5, "bundled")
