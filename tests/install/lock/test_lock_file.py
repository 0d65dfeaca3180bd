from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from install.builders import prepared
from metier.errors import ConfigError, SkillNotFoundError
from metier.install.lock.lock_file import Lock, LockEntry, Origin, parse_lock, render_lock
from metier.install.targets.scope import InstallMode
from metier.spec import Capabilities


def locked(name: str = "pdf", **changes: object) -> LockEntry:
    return replace(prepared(name).entry, installed="2026-11-15T12:00:00Z", **changes)  # type: ignore[arg-type]


def lock(*entries: LockEntry) -> Lock:
    return Lock({entry.name: entry for entry in entries})


def test_a_lock_is_written_in_one_fixed_order() -> None:
    text = render_lock(lock(locked("b"), locked("a", targets=("codex", "claude-code"))))
    assert text == render_lock(lock(locked("a", targets=("claude-code", "codex")), locked("b")))
    assert text.index("[skills.a]") < text.index("[skills.b]")
    assert 'targets = ["claude-code", "codex"]' in text


def test_a_lock_says_all_that_a_restore_needs() -> None:
    text = render_lock(lock(locked(version="1.2.0", pinned=True, mode=InstallMode.COPY)))
    for part in ('source = "git"', 'url = "https://example.com/skills.git"', 'path = "skills/pdf"', 'ref = "main"', "commit = ",
                 'asked = "example/skills"', 'version = "1.2.0"', 'digest = "sha256:', 'mode = "copy"', "pinned = true",
                 'installed = "2026-11-15T12:00:00Z"', '"scripts/run.sh" = "100755 '):  # fmt: skip
        assert part in text


def test_the_list_of_capabilities_is_in_a_lock_of_version_2() -> None:
    listed = Capabilities(hosts=("(computed)", "api.example.com"), commands=("git",))
    before = lock(locked(capabilities=listed), locked("text-only", capabilities=Capabilities()), locked("unscanned"))
    text = render_lock(before)
    assert "\nversion = 2\n" in text
    assert '[skills.pdf.capabilities]\nhosts = ["(computed)", "api.example.com"]\ncommands = ["git"]\n' in text
    after = parse_lock(text, file="metier.lock")
    assert after == before
    assert [entry.capabilities for entry in after] == [listed, Capabilities(), None]


def test_a_lock_without_a_list_is_written_as_before() -> None:
    assert "\nversion = 1\n" in render_lock(lock(locked()))


words = st.text(st.characters(codec="utf-8"), max_size=20)


@given(words, words, words, st.booleans(), st.lists(st.sampled_from(["codex", "claude-code", "pi"]), unique=True))
def test_a_lock_that_is_read_back_is_the_same(url: str, ref: str, asked: str, pinned: bool, targets: list[str]) -> None:
    origin = Origin(kind="git", url=url, path="skills/pdf", ref=ref, commit="c" * 40)
    before = lock(locked(origin=origin, asked=asked, pinned=pinned, targets=tuple(sorted(targets))))
    assert parse_lock(render_lock(before), file="metier.lock") == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("version = 1", "version = 3"), "version 3"),
        (("[skills.pdf.files]", "[skills.pdf.capabilities]\nhosts = 'x'\n[skills.pdf.files]"), "not a list of names"),
        (("[skills.pdf.files]", '[skills.pdf.capabilities]\nhosts = ["a\\u001b"]\n[skills.pdf.files]'), "not a list of names"),
        (("[skills.pdf.files]", "[skills.pdf.capabilities]\ngrants = ['x']\n[skills.pdf.files]"), "not a table of hosts"),
        (("version = 1", ""), "version None"),
        (("[skills.pdf]", "[skills.pdf"), "not a lock"),
        (("[skills.pdf]", '[skills."../pdf"]'), "is not a skill"),
        (('source = "git"', 'source = "ftp"'), "invalid source, digest or mode"),
        (('mode = "link"', 'mode = "hard"'), "invalid source, digest or mode"),
        (('mode = "link"', 'targets = ["no-such-agent"]'), "unknown agent"),
        (('"SKILL.md" = "100644', '"../SKILL.md" = "100644'), "leaves the skill"),
        (('"SKILL.md" = "100644', '"SKILL.md" = "104755'), "not a path with a hash"),
        (("sha256:", "md5:"), "invalid source, digest or mode"),
        (('path = "skills/pdf"', "path = 3"), "is not text"),
    ],
)
def test_a_lock_that_was_tampered_with_is_refused(change: tuple[str, str], message: str) -> None:
    text = render_lock(lock(locked())).replace(*change)
    with pytest.raises((ConfigError, PermissionError), match=message):
        parse_lock(text, file="metier.lock")


def test_asking_for_a_skill_that_is_not_locked_suggests_one_that_is() -> None:
    with pytest.raises(SkillNotFoundError) as caught:
        _ = lock(locked("pdf"))["pdg"]
    assert "did you mean 'pdf'" in caught.value.hint


def git(folder: Path, *words: str) -> int:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, capture_output=True, check=False
    ).returncode


def test_two_branches_that_install_different_skills_merge_without_a_person(tmp_path: Path) -> None:
    def written(*names: str) -> None:
        (tmp_path / "metier.lock").write_text(render_lock(lock(*map(locked, names))))
        git(tmp_path, "add", "metier.lock")
        assert git(tmp_path, "commit", "-m", "x") == 0

    assert git(tmp_path, "init", "-b", "main") == 0
    written("m")
    git(tmp_path, "checkout", "-b", "other")
    written("m", "z")
    git(tmp_path, "checkout", "main")
    written("a", "m")
    assert git(tmp_path, "merge", "other") == 0
    assert sorted(parse_lock((tmp_path / "metier.lock").read_text(), file="").skills) == ["a", "m", "z"]


def test_a_conflict_that_git_could_not_merge_is_joined_where_the_sides_agree() -> None:
    ours, theirs = (render_lock(lock(locked(name))).split("version = 1\n", 1)[1] for name in ("a", "b"))
    text = f"version = 1\n<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n"
    assert sorted(parse_lock(text, file="metier.lock").skills) == ["a", "b"]


def test_a_conflict_over_one_skill_is_a_question_for_a_person() -> None:
    ours, theirs = (render_lock(lock(locked(version=each))).split("version = 1\n", 1)[1] for each in ("1.0", "2.0"))
    with pytest.raises(ConfigError, match=r"metier.lock:2: a merge left two versions of 'pdf'"):
        parse_lock(f"version = 1\n<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n", file="metier.lock")
