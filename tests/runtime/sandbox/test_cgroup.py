"""The cgroup of a run: which parent is found, what is written to it, and what is read from it.

Version 1 is tested with the kernel where root runs the tests. Version 2 is tested with folders of plain files.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from metier.runtime.sandbox.cgroup import CgroupParent, Leaf, find_parent, remove_abandoned


def process(tmp_path: Path, *, cgroup: str, mounts: list[tuple[str, str, Path, str]]) -> str:
    """A folder like /proc/self with these lines."""
    lines = [f"1 0 0:1 {root} {point} rw - {kind} cgroup {options}" for kind, root, point, options in mounts]
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text(cgroup)
    (tmp_path / "self/mountinfo").write_text("\n".join(["2 1 0:2 / /proc rw - proc proc rw", *lines]))
    return str(tmp_path / "self")


def version_2(folder: Path, *, controllers: str = "cpu memory pids", enabled: str = "memory pids", procs: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("controllers", controllers), ("subtree_control", enabled), ("procs", procs)):
        (folder / f"cgroup.{name}").write_text(text)
    return folder


def leaf_of_files(parent: CgroupParent, *names: str) -> Leaf:
    """A leaf whose control files exist, as the kernel would have made them."""
    leaf = Leaf(parent, "test")
    for folder in leaf.folders:
        for name in names:
            (Path(folder) / name).write_text("")
    return leaf


def test_no_cgroup_is_found_where_none_is_mounted(tmp_path: Path) -> None:
    assert find_parent(process(tmp_path, cgroup="0::/\n", mounts=[])) is None
    assert find_parent(str(tmp_path / "missing")) is None


def test_a_folder_that_does_not_take_limits_is_not_a_parent(tmp_path: Path) -> None:
    # Plain folders: a leaf can be made, but there is no memory.max in it.
    top = version_2(tmp_path / "top")
    version_2(top / "app.slice" / "run.scope")
    found = find_parent(process(tmp_path, cgroup="0::/app.slice/run.scope\n", mounts=[("cgroup2", "/", top, "rw")]))
    assert found is None
    assert sorted(path.name for path in top.iterdir() if path.is_dir()) == ["app.slice"], "the attempt is removed again"


def test_a_cgroup_outside_of_what_is_mounted_is_not_used(tmp_path: Path) -> None:
    top = version_2(tmp_path / "top")
    assert find_parent(process(tmp_path, cgroup="0::/../other\n", mounts=[("cgroup2", "/", top, "rw")])) is None


def test_version_2_gets_hard_limits_without_swap_and_ends_as_one(tmp_path: Path) -> None:
    names = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cgroup.procs", "cgroup.kill")
    leaf = leaf_of_files(CgroupParent(2, str(tmp_path), str(tmp_path)), *names)
    leaf.set_limits(memory=1000, tasks=7)
    leaf.enter()
    folder = Path(leaf.memory)
    assert [(folder / name).read_text() for name in names[:-1]] == ["1000", "0", "1", "7", "0"]
    leaf.stop()
    assert ((folder / "pids.max").read_text(), (folder / "cgroup.kill").read_text()) == ("0", "1")


@pytest.mark.parametrize(("version", "name"), [(1, "memory.oom_control"), (2, "memory.events")])
def test_the_kernels_count_of_kills_says_that_memory_was_exceeded(tmp_path: Path, version: int, name: str) -> None:
    leaf = leaf_of_files(CgroupParent(version, str(tmp_path), str(tmp_path)), name)
    assert not leaf.memory_exceeded()
    (Path(leaf.memory) / name).write_text("oom_kill_disable 0\nunder_oom 1\noom_kill 0\n")
    assert not leaf.memory_exceeded()
    (Path(leaf.memory) / name).write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    assert leaf.memory_exceeded()


def test_an_abandoned_leaf_is_removed_and_a_locked_one_is_not(tmp_path: Path) -> None:
    parent = CgroupParent(2, str(tmp_path), str(tmp_path))
    held = Leaf(parent, "held")
    left = Leaf(parent, "left")
    os.mkdir(f"{tmp_path}/other")
    for lock in left._locks:
        os.close(lock)
    remove_abandoned(parent)
    assert sorted(os.listdir(tmp_path)) == sorted([os.path.basename(held.memory), "other"])


@pytest.mark.skipif(os.geteuid() != 0 or find_parent() is None, reason="no cgroup can be had here; the suite measures instead")
def test_the_kernel_counts_the_processes_of_a_leaf() -> None:
    parent = find_parent()
    assert parent
    leaf = Leaf(parent, f"test-{os.getpid()}")
    try:
        leaf.set_limits(memory=64 << 20, tasks=3)
        script = "for i in 1 2 3 4 5 6; do sleep 0.01 & done; wait"
        done = subprocess.run(["sh", "-c", script], preexec_fn=leaf.enter, capture_output=True, check=False)
        assert b"ork" in done.stderr, "sh: Cannot fork"
    finally:
        leaf.remove()
    assert not any(map(os.path.exists, leaf.folders))
