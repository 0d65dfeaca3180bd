"""Whatever happens to an installer, the old state stands or the new one, and a repair leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import python
from install.builders import installed, prepared, snapshot, store_in
from install.crash_process import SCENARIOS, crashes
from metier.install.lock.verify import LockCondition, verify
from metier.install.transaction.doctor import find_leftovers, repair


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a thousand installations wait for no disk, and a killed process does not care."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="metier-", dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_kill_9_at_every_point_leaves_the_old_state_or_the_new_one(scenario: str, quick_path: Path) -> None:
    found = list(crashes(scenario, quick_path))
    assert len(found) >= 10
    for crash in found:
        assert crash.status == -signal.SIGKILL, crash
        assert crash.whole, crash
        assert crash.after in ("old", "new"), crash
        assert crash.clean, crash
    # Once it is new it stays new: the journal is the one moment at which it is decided.
    assert [crash.after for crash in found] == sorted((crash.after for crash in found), key=("old", "new").index)
    assert {crash.after for crash in found} == {"old", "new"}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_ctrl_c_at_every_point_leaves_nothing_to_repair(scenario: str, quick_path: Path) -> None:
    for crash in crashes(scenario, quick_path, by=signal.SIGINT):
        assert crash.status == 130, crash
        assert (crash.whole, crash.left, crash.clean) == (True, 0, True), crash
        assert crash.after in ("old", "new"), crash


def test_the_next_installer_completes_the_transaction_of_a_killed_one(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"), prepared("docx"), targets=("claude-code",))
    code = f"""
        import os, signal, sys
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from install.builders import *
        def at(point):
            if point == "journal written":
                os.kill(os.getpid(), signal.SIGKILL)
        installed(store_in(Path(sys.argv[1]), checkpoint=at), prepared("pdf", body="Newer."))
    """
    process = python(code, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    store = store_in(tmp_path)
    assert store.is_interrupted
    installed(store, prepared("xlsx"))
    assert not Path(store.scope.journal).exists()
    assert sorted(store.lock().skills) == ["docx", "pdf", "xlsx"]
    assert "Newer." in (tmp_path / "home/.agents/skills/pdf/SKILL.md").read_text()
    assert {verdict.condition for verdict in verify(store)} == {LockCondition.OK}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=400", "tmpfs", str(folder)], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("only root may mount a small disk; the next test needs no mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_state_however_much_space_was_left(small_disk: Path) -> None:
    store = store_in(small_disk)
    installed(store, prepared("pdf"), targets=("claude-code",))
    old = snapshot(small_disk)
    outcomes = set()
    for free in range(0, 360, 12):
        filler = small_disk / "filler"
        _fill(small_disk, filler, free * 1024)
        try:
            installed(store, prepared("pdf", body="Newer.\n", files={"big.bin": os.urandom(200_000)}), prepared("docx"))
            outcomes.add("new")
        except OSError:
            filler.unlink()
            assert snapshot(small_disk) == old
            outcomes.add("old")
        filler.unlink(missing_ok=True)
        assert not find_leftovers(store.scope)
        assert {verdict.condition for verdict in verify(store)} == {LockCondition.OK}
        if "new" in outcomes:
            break
    assert outcomes == {"old", "new"}


def _fill(disk: Path, filler: Path, leave: int) -> None:
    status = os.statvfs(disk)
    with filler.open("wb") as stream:
        try:
            stream.write(b"\0" * max(0, status.f_bavail * status.f_frsize - leave))
        except OSError:
            pass


def test_a_file_that_may_not_grow_leaves_the_old_state(tmp_path: Path) -> None:
    installed(store_in(tmp_path), prepared("pdf"))
    old = snapshot(tmp_path)
    code = f"""
        import resource, signal, sys
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from install.builders import *
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        installed(store_in(Path(sys.argv[1])), prepared("pdf", body="Newer.", files={{"big.bin": bytes(200_000)}}))
    """
    process = python(code, tmp_path)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "File too large" in err
    assert snapshot(tmp_path) == old
    assert not find_leftovers(store_in(tmp_path).scope)


def test_a_read_only_place_leaves_the_old_state(open_path: Path) -> None:
    code = f"""
        import os, shutil, sys, tomllib
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from install.builders import *
        # What is imported on the way lies where only root may read.
        prepared("pdf").report, installed(store_in(Path(sys.argv[1], "first")), prepared("pdf"))
        if os.getuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
        root = Path(sys.argv[1])
        installed(store_in(root), prepared("pdf"))
        os.chmod(root / "home/.metier/plugins", 0o555)
        try:
            installed(store_in(root), prepared("pdf", body="Newer."))
        except PermissionError as error:
            print(error.filename)
        os.chmod(root / "home/.metier/plugins", 0o755)
        assert "Newer" not in (root / "home/.metier/plugins/pdf/SKILL.md").read_text()
    """
    open_path.chmod(0o777)
    process = python(code, open_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "plugins" in out


def test_a_repair_where_nothing_is_wrong_does_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    installed(store, prepared("pdf"))
    before = snapshot(tmp_path)
    assert repair(store.scope) == ()
    assert snapshot(tmp_path) == before
