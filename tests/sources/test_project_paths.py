"""Folders and files of a project are opened through links inside it only."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from metier.errors import RefusedError
from metier.sources import inner_file, inner_folder, open_folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "outside/below").mkdir(parents=True)
    (tmp_path / "project/real/below").mkdir(parents=True)
    return tmp_path / "project"


@pytest.mark.parametrize(
    "target", ["..", "../outside", "../project/../outside", "/", "real/../../outside", "loop", "../project-2", "{tmp}/outside"]
)
def test_a_link_out_of_the_project_is_refused(project: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "project-2").mkdir()
    (project / "loop").symlink_to("loop")
    (project / "link").symlink_to(target.format(tmp=tmp_path))
    for path in ("link", "link/below", "link/new"):
        with pytest.raises(RefusedError) as caught:
            open_folder(str(project / path), inside=str(project), create=True)
        assert caught.value.rule == "link-leaves-project"
    with pytest.raises(RefusedError), inner_file(str(project / "link"), inside=str(project)):
        pass
    assert sorted(os.listdir(tmp_path / "outside")) == ["below"]
    assert not os.listdir(tmp_path / "project-2")


@pytest.mark.parametrize("target", ["real", "./real/", "real/below/..", "real/below/../../real", "{tmp}/project/real"])
def test_a_link_inside_the_project_is_followed(project: Path, tmp_path: Path, target: str) -> None:
    (project / "link").symlink_to(target.format(tmp=tmp_path))
    with inner_folder(str(project / "link/new"), inside=str(project), create=True) as folder:
        assert os.fstat(folder).st_ino == (project / "real/new").stat().st_ino


def test_a_project_that_is_reached_by_a_link_is_the_real_one(project: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(project)
    with inner_file(str(tmp_path / "alias/real/f"), inside=str(tmp_path / "alias")) as (folder, name):
        assert (os.fstat(folder).st_ino, name) == ((project / "real").stat().st_ino, "f")


def test_a_link_to_a_file_is_resolved_to_its_real_name(project: Path) -> None:
    (project / "AGENTS.md").symlink_to("real/CLAUDE.md")
    with inner_file(str(project / "AGENTS.md"), inside=str(project)) as (folder, name):
        assert (os.fstat(folder).st_ino, name) == ((project / "real").stat().st_ino, "CLAUDE.md")


def test_no_descriptor_is_left_open(project: Path) -> None:
    (project / "link").symlink_to("../outside")
    before = len(os.listdir("/dev/fd"))
    for path in ("link", "missing/below", "real/below"):
        try:
            os.close(open_folder(str(project / path), inside=str(project)))
        except OSError:
            continue
    assert len(os.listdir("/dev/fd")) == before
