"""The scratch folder of a run."""

from __future__ import annotations

import os
from pathlib import Path

from metier.runtime.sandbox import scratch


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
