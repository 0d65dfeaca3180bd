"""Many installers, and installers that end early: real processes over one home."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from builders import write_skill
from cli.shell import Shell


def test_twenty_installers_at_once_all_succeed(shell: Shell, tmp_path: Path) -> None:
    names = [f"skill-{number}" for number in range(10)]
    for name in names:
        write_skill(tmp_path / "repo/skills", name)
    words = ("skill", "install", str(tmp_path / "repo"), "--target", "claude-code", "--skill")
    # Each skill twice: the second to come finds it as it should be.
    processes = [shell.start(*words, name) for name in names * 2]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    verified = shell("skill", "verify", "--json").data
    assert sorted(row["name"] for row in verified["skills"]) == names
    assert verified["ok"]
    assert not list(shell.home.rglob(".metier-*"))


def test_installers_that_are_killed_at_any_time_never_break_a_skill(shell: Shell, tmp_path: Path) -> None:
    for number in range(8):
        write_skill(tmp_path / "repo/skills", f"skill-{number}", body="old\n" * 2000)
    words = ("skill", "install", str(tmp_path / "repo"), "--all", "--target", "claude-code,codex")
    assert shell(*words).code == 0
    chance = random.Random(7)
    for turn in range(8):
        for number in range(8):
            write_skill(tmp_path / "repo/skills", f"skill-{number}", body=f"turn {turn}\n" * 2000)
        process = shell.start("skill", "update")
        time.sleep(chance.uniform(0.15, 0.6))
        process.kill()
        process.communicate()
        for number in range(8):
            body = (shell.home / f".agents/skills/skill-{number}/SKILL.md").read_text().partition("---\n\n")[2]
            assert len(set(body.split("\n")[:-1])) == 1, "half of one version and half of another"
    assert shell("doctor", "--repair").code in (0, 1)
    assert shell("skill", "verify", "--json").data["ok"]
    assert not list(shell.home.rglob(".metier-*"))


def test_a_full_disk_is_reported_in_one_sentence(shell: Shell, tmp_path: Path) -> None:
    write_skill(tmp_path / "repo", "large", body="x" * 900_000)
    (tmp_path / "repo/large/more.bin").write_bytes(os.urandom(900_000))
    ran = shell.sh(f'trap "" XFSZ; ulimit -f 400; "$METIER" skill install {tmp_path}/repo/large')
    assert ran.code == 1
    assert ran.err.startswith("error: file too large\n") or "more.bin: file too large" in ran.err
    assert not list(shell.home.rglob("large"))
    assert not list(shell.home.rglob(".metier-*"))
