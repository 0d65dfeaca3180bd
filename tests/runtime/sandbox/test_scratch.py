"""The scratch folder of a run."""

from __future__ import annotations

import os
from pathlib import Path

from metier.runtime.sandbox import scratch
from metier.runtime.sandbox.folder_lock import make_locked


def test_any_tree_can_be_removed(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    os.chdir(base)
    try:
        for _ in range(3000):  # deeper than a recursion and longer than a path may be
            os.mkdir("d" * 20)
            os.chdir("d" * 20)
        Path("leaf").write_text("x")
    finally:
        os.chdir(tmp_path)
    (base / "link").symlink_to(tmp_path)
    (base / "shut").mkdir()
    (base / "shut/inner").mkdir()
    (base / "shut/inner/file").write_text("x")
    (base / "shut/inner").chmod(0)
    (base / "shut").chmod(0)
    os.mkfifo(base / "fifo")
    (tmp_path / "kept").write_text("x")
    scratch.remove(str(base))
    assert not base.exists()
    assert (tmp_path / "kept").exists()


def test_a_mirror_holds_the_checked_script_and_links_to_everything_beside_it(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "scripts/deep").mkdir(parents=True)
    (skill / "assets").mkdir()
    (skill / "assets/a.txt").write_text("asset")
    (skill / "scripts/deep/run.py").write_text("on disk")
    (skill / "scripts/lib.py").write_text("lib")
    scratch.mirror(str(skill), "scripts/deep/run.py", b"checked", str(tmp_path / "mirror"))
    mirror = tmp_path / "mirror"
    assert (mirror / "scripts/deep/run.py").read_text() == "checked"
    assert (mirror / "scripts/lib.py").read_text() == "lib"
    assert (mirror / "assets/a.txt").read_text() == "asset"
    assert not (mirror / "scripts/deep/run.py").is_symlink()


def usage(folder: Path, limit: int = 10_000) -> scratch.ScratchUsage:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return scratch.measure(descriptor, limit)
    finally:
        os.close(descriptor)


def test_every_folder_is_measured_however_many_there_are(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "file").write_bytes(b"x")
    found = usage(tmp_path)
    assert found.files == 1000
    assert usage(tmp_path, limit=999).files > 999


def test_folders_too_deep_to_follow_exceed_the_limit(tmp_path: Path) -> None:
    (tmp_path / "/".join("d" * 100)).mkdir(parents=True)
    assert usage(tmp_path).files == 100
    (tmp_path / "/".join("d" * 300)).mkdir(parents=True)
    assert usage(tmp_path).files > 10_000


def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside/inner").mkdir(parents=True)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch/link").symlink_to(tmp_path / "outside")
    assert usage(tmp_path / "scratch").files == 1


def test_leftovers_of_dead_runs_are_removed_and_nothing_else(tmp_path: Path) -> None:
    dead, alive, other = (tmp_path / name for name in ("metier-0123456789abcdef", "metier-fedcba9876543210", "metier-notes"))
    for folder in (dead, other):
        (folder / "scratch").mkdir(parents=True)
    lock = make_locked(str(alive))
    scratch.remove_abandoned(str(tmp_path))
    os.close(lock)
    assert sorted(path.name for path in tmp_path.iterdir()) == [alive.name, other.name]
