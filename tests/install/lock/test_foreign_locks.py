"""Locks of npm's skills, gh and apm: read, installed as pinned, and written so that they can be read again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_programs import node_program
from builders import skill_text
from cli.shell import ForkServer, Shell
from install.builders import contents, prepared
from install.servers import Repository
from metier.errors import ConfigError
from metier.install import ForeignLockFormat, read_folder, read_foreign_lock, render_foreign_lock
from metier.install.lock.foreign_hashes import folder_hash, matches_hash, tree_id
from metier.values import replace

COMMIT = "a1b2c3d4e5f6789012345678901234567890abcd"


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    parent = ForkServer(tmp_path_factory.mktemp("fork_server"))
    yield parent
    parent.end()


@pytest.fixture
def shell(tmp_path: Path, fork_server: ForkServer) -> Shell:
    return Shell(tmp_path, fork_server)


def refs(text: str) -> list[str]:
    return [one.ref for one in read_foreign_lock(text, file="/home/ada/project/lock").skills]


@pytest.mark.parametrize(
    ("row", "ref"),
    [
        ({"source": "acme/skills", "sourceType": "github"}, "github:acme/skills#@pdf"),
        ({"source": "acme/skills", "sourceType": "github", "ref": "v2"}, "github:acme/skills#v2@pdf"),
        (
            {"source": "acme/skills", "sourceType": "github", "skillPath": "skills/pdf/SKILL.md"},
            "github:acme/skills/skills/pdf",
        ),
        ({"source": "x", "sourceType": "gitlab", "sourceUrl": "https://gitlab.com/a/b.git"}, "git+https://gitlab.com/a/b.git#@pdf"),
        ({"source": "./mine", "sourceType": "local"}, "/home/ada/project/mine"),
        ({"source": "example.com", "sourceType": "well-known"}, "https://example.com#@pdf"),
    ],
)  # fmt: skip
def test_a_source_of_npms_skills_becomes_a_ref(row: dict[str, str], ref: str) -> None:
    assert refs(json.dumps({"version": 1, "skills": {"pdf": row}})) == [ref]
    assert refs(json.dumps({"version": 3, "skills": {"pdf": row}})) == [ref]


def test_a_lock_of_apm_becomes_refs_at_its_commits() -> None:
    lock = read_foreign_lock(
        f'lockfile_version: "1"\ndependencies:\n'
        f"  - repo_url: https://github.com/acme/skills\n    resolved_commit: {COMMIT}\n    resolved_ref: main\n"
        "    virtual_path: skills/pdf\n    package_type: claude_skill\n    name: pdf\n"
        f"  - repo_url: acme/more\n    resolved_commit: {COMMIT}\n    skill_subset: [a, b]\n"
        "  - repo_url: acme/hooks\n    package_type: hook_package\n"
        "  - repo_url: acme/old\n    source: registry\n",
        file="apm.lock.yaml",
    )
    assert [(one.ref, one.at_commit) for one in lock.skills] == [
        ("github:acme/skills/skills/pdf#main", f"github:acme/skills/skills/pdf#{COMMIT}"),
        ("github:acme/more#@a", f"github:acme/more#{COMMIT}@a"),
        ("github:acme/more#@b", f"github:acme/more#{COMMIT}@b"),
    ]
    assert [note.partition(" is left out")[0] for note in lock.notes] == ["acme/hooks", "acme/old"]


@pytest.mark.parametrize(
    "row",
    [
        {"source": "acme/skills", "sourceType": "node_modules"},
        {"source": "acme/skills", "sourceType": "github", "skillPath": "../../x/SKILL.md"},
        {"source": "acme/skills", "sourceType": "github", "ref": "--upload-pack=x"},
        {"source": "a/b/../c", "sourceType": "github"},
        "text",
    ],
)
def test_an_entry_that_cannot_be_installed_is_a_note(row: object) -> None:
    lock = read_foreign_lock(json.dumps({"version": 1, "skills": {"pdf": row}}), file="skills-lock.json")
    assert (lock.skills, len(lock.notes)) == ((), 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 9, "skills": {}}', "lockfile_version: 7\n", "a: [", "\0"])
def test_another_file_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ConfigError):
        read_foreign_lock(text, file="x")


def test_the_hashes_are_those_of_git_and_of_npms_skills(tmp_path: Path) -> None:
    folder = tmp_path / "source/skills/pdf"
    for path in ("scripts/a.sh", "scripts/B.sh", "README.md", "a_b.txt", "a-b.txt", "a.txt", "Z dir/é.txt", "_x", "a2"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    (folder / "SKILL.md").write_text(skill_text("pdf"))
    (folder / "scripts/a.sh").chmod(0o755)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DISABLE_TELEMETRY": "1", "CI": "1"}
    project = tmp_path / "project"
    project.mkdir()
    words = [node_program("skills"), "add", str(tmp_path / "source"), "--all", "--agent", "universal", "--yes", "--copy"]
    subprocess.run(words, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=120)
    lock = json.loads((project / "skills-lock.json").read_text())
    files = read_folder(str(folder))
    assert folder_hash(files) == lock["skills"]["pdf"]["computedHash"]
    for arguments in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)
    wrote = subprocess.run(["git", "write-tree"], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert tree_id(files) == wrote.stdout.strip()


@pytest.mark.parametrize("to", ForeignLockFormat)
def test_a_lock_that_is_written_and_read_again_pins_the_same_commit(to: ForeignLockFormat) -> None:
    entry = prepared("pdf", url="https://github.com/acme/skills.git", commit=COMMIT).entry
    text, notes = render_foreign_lock([(replace(entry, installed="2026-11-15T12:00:00Z"), contents("pdf"))], to)
    assert notes == ()
    (locked,) = read_foreign_lock(text, file="lock").skills
    assert locked.ref == "github:acme/skills/skills/pdf#main"
    assert locked.at_commit == f"github:acme/skills/skills/pdf#{COMMIT}"
    assert render_foreign_lock([(replace(entry, installed="2026-11-15T12:00:00Z"), contents("pdf"))], to)[0] == text


def test_a_local_skill_has_the_hash_that_apm_gave_to_the_same_folder(tmp_path: Path) -> None:
    # Written by apm 0.35.0 for these files. Its copy of the folder has no links.
    hashes = {
        False: "14ca44fca409973630f50729450e6618f62de865a7189da2ec4f7d9d9eeb5fa1",
        True: "6b58abe1dcdfab61c3e46eccd5bba8d3f6590ba3adb20142878cd8aa2c58e575",
    }
    folder = tmp_path / "skills/letter"
    (folder / "references").mkdir(parents=True)
    text = "---\nname: letter\ndescription: Writes letters. Use when the user wants a letter.\n---\n# Letter\n\nBe brief.\n"
    (folder / "SKILL.md").write_text(text)
    (folder / "references/a.md").write_text("hi\n")
    entry = replace(prepared("letter").entry, name="letter")
    entry = replace(
        entry, origin=replace(entry.origin, kind="path", url=str(tmp_path), path="skills/letter", commit="", ref="")
    )
    for is_linked, expected in hashes.items():
        if is_linked:
            (folder / "b.md").symlink_to("references/a.md")
            (folder / "more").symlink_to("references")
        files = read_folder(str(folder))
        written, _ = render_foreign_lock([(entry, files)], ForeignLockFormat.APM_LOCK, base=str(tmp_path / "skills"))
        assert f'content_hash: "sha256:{expected}"' in written
        (locked,) = read_foreign_lock(written, file=str(tmp_path / "skills/apm.lock.yaml")).skills
        assert (locked.ref, locked.name, locked.hash) == (str(folder), "letter", expected)
        assert matches_hash(files, locked.hash)


def test_a_source_that_a_format_cannot_name_is_a_note() -> None:
    entry = prepared("pdf").entry
    entry = replace(entry, origin=replace(entry.origin, kind="registry"))
    text, notes = render_foreign_lock([(entry, contents("pdf"))], ForeignLockFormat.SKILLS_LOCK)
    assert json.loads(text)["skills"] == {}
    assert "pdf is left out" in notes[0]


@pytest.mark.parametrize("to", ForeignLockFormat)
def test_a_team_moves_over_and_back(tmp_path: Path, shell: Shell, to: ForeignLockFormat) -> None:
    (shell.bin / "git").symlink_to(shutil.which("git") or "git")
    repository = Repository(tmp_path / "repo.git")
    first = repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", body="One.\n")})
    source = f"git+file://{repository.folder}"
    shell("skill", "install", source, "--allow-file", "--target", "none", "--user")
    shell("skill", "export", "--as", to, "-o", "their-lock").ok()
    # The source moves on; the lock still pins what it pinned.
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", body="Two.\n")})
    shell("skill", "remove", "pdf", "--yes").ok()
    ran = shell("skill", "import", "their-lock", "--allow-file", "--target", "none", "--user", "--json")
    (row,) = ran.data["skills"]
    assert row["commit"] == first
    assert (Path(row["folder"]) / "SKILL.md").read_text() == skill_text("pdf", body="One.\n")


def test_a_hash_that_the_source_no_longer_has_is_refused(tmp_path: Path, shell: Shell) -> None:
    (shell.bin / "git").symlink_to(shutil.which("git") or "git")
    repository = Repository(tmp_path / "repo.git")
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    row = {"source": "x", "sourceUrl": f"file://{repository.folder}", "sourceType": "git", "computedHash": "0" * 64}
    (shell.project / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": {"pdf": row}}))
    words = ("skill", "import", "skills-lock.json", "--allow-file", "--target", "none")
    shell(*words).failed(5, "the source of pdf has other files now than the lock pins", "--accept-changed")
    assert shell(*words, "--user", "--accept-changed").code == 0


def test_import_says_what_is_wrong_with_a_file(shell: Shell) -> None:
    shell("skill", "import", "gone.json").failed(3, "gone.json does not exist")
    (shell.project / "x.json").write_text("{}")
    shell("skill", "import", "x.json").failed(2, "neither skills-lock.json")


def test_npms_skills_restores_from_the_lock_that_we_write(tmp_path: Path, shell: Shell) -> None:
    folder = tmp_path / "source/skills/pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill_text("pdf"))
    assert shell("skill", "install", str(tmp_path / "source"), "--target", "none").code == 0
    shell("skill", "export", "--as", "skills-lock", "-o", "skills-lock.json").ok()
    before = json.loads((shell.project / "skills-lock.json").read_text())["skills"]["pdf"]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DISABLE_TELEMETRY": "1", "CI": "1"}
    words = [node_program("skills"), "experimental_install"]
    subprocess.run(
        words, cwd=shell.project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=120
    )
    assert (shell.project / ".agents/skills/pdf/SKILL.md").read_text() == skill_text("pdf")
    after = json.loads((shell.project / "skills-lock.json").read_text())["skills"]["pdf"]
    assert after["computedHash"] == before["computedHash"]
