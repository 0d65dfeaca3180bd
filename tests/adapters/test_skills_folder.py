"""Skills as files: what is there while it is open, and that nothing is left behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import metier
from builders import python
from metier.adapters.skills_folder import SkillMount, SkillsFolder
from metier.errors import ConflictError
from metier.testing import skill_folder


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = skill_folder(tmp_path / "skills", "chart", files={"scripts/draw.sh": "#!/bin/sh\n", "references/deep/a.md": "a"})
    (folder / "scripts" / "draw.sh").chmod(0o755)
    return tmp_path / "skills"


def test_a_copy_holds_every_file_and_can_not_be_written(skills: Path) -> None:
    with SkillsFolder(metier.discover(skills)) as workspace:
        root = Path(workspace.skills_folder) / "chart"
        found = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        assert found == ["SKILL.md", "references/deep/a.md", "scripts/draw.sh"]
        assert (root / "SKILL.md").read_bytes() == (skills / "chart" / "SKILL.md").read_bytes()
        modes = {path.relative_to(root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
        assert not [path for path, mode in modes.items() if mode & 0o222]
        assert modes["scripts/draw.sh"] & 0o100
        assert not modes["SKILL.md"] & 0o111
        assert stat.S_IMODE(root.stat().st_mode) == 0o500


@pytest.mark.parametrize("how", SkillMount)
def test_nothing_is_left_when_it_closes(skills: Path, tmp_path: Path, how: SkillMount) -> None:
    own = tmp_path / "own"
    own.mkdir()
    with SkillsFolder(metier.discover(skills), how=how) as new, SkillsFolder(metier.discover(skills), folder=own, how=how):
        assert (own / ".claude/skills/chart/SKILL.md").exists()
    assert not os.path.exists(new.folder)
    assert list(own.iterdir()) == []
    assert (skills / "chart" / "references/deep/a.md").read_text() == "a"


def test_existing_files_stay_in_the_folder(skills: Path, tmp_path: Path) -> None:
    mine = skill_folder(tmp_path / "own/.claude/skills", "mine")
    with SkillsFolder(metier.discover(skills), folder=tmp_path / "own"):
        assert (tmp_path / "own/.claude/skills/chart").exists()
    assert [path.name for path in mine.parent.iterdir()] == ["mine"]


def test_a_skill_of_the_same_name_is_never_replaced(skills: Path, tmp_path: Path) -> None:
    skill_folder(tmp_path / "own/.claude/skills", "chart", body="Mine.")
    skill_folder(skills, "a-first")
    with pytest.raises(ConflictError, match="exists already"):
        SkillsFolder(metier.discover(skills), folder=tmp_path / "own")
    assert [path.name for path in (tmp_path / "own/.claude/skills").iterdir()] == ["chart"]
    assert "Mine." in (tmp_path / "own/.claude/skills/chart/SKILL.md").read_text()


def test_skills_that_are_there_already_are_used_as_they_are(tmp_path: Path) -> None:
    folder = skill_folder(tmp_path / ".claude/skills", "chart")
    with SkillsFolder(metier.discover(tmp_path / ".claude/skills"), folder=tmp_path) as workspace:
        assert workspace.names == ("chart",)
    assert (folder / "SKILL.md").exists()


def test_a_link_out_of_a_skill_is_not_copied(skills: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret")
    (skills / "chart" / "references" / "out.txt").symlink_to(tmp_path / "secret.txt")
    with SkillsFolder(metier.discover(skills)) as workspace:
        assert not os.path.lexists(workspace.path_of("chart", "references/out.txt"))


@pytest.mark.parametrize("how", SkillMount)
def test_a_path_is_known_by_any_of_its_names(skills: Path, how: SkillMount) -> None:
    with SkillsFolder(metier.discover(skills), how=how) as workspace:
        for path in (workspace.path_of("chart", "references/deep/a.md"), str(skills / "chart/references/deep/a.md")):
            assert workspace.find(path) == ("chart", "references/deep/a.md")
        assert workspace.find("chart/SKILL.md", cwd=workspace.skills_folder) == ("chart", "SKILL.md")
        assert workspace.find(workspace.path_of("chart", "../../../../etc/passwd")) is None
        assert workspace.find(f"{workspace.skills_folder}/chart-2/SKILL.md") is None


def test_it_is_gone_when_python_ends_without_closing_it(skills: Path) -> None:
    code = """
        import sys, metier
        from metier.adapters import SkillsFolder
        workspace = SkillsFolder(metier.discover(sys.argv[1]))
        print(workspace.folder)
    """
    out, err = python(code, skills).communicate(timeout=60)
    assert not err
    assert out.strip()
    assert not os.path.exists(out.strip())
