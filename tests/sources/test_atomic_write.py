"""Files that change whole or not at all."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from builders import python
from metier.sources.atomic_write import file_lock, replace_bytes, replace_text


def test_a_new_file_appears_with_its_folders_and_for_its_owner_only(tmp_path: Path) -> None:
    replace_text(str(tmp_path / "a/b/file"), "tëxt")
    file = tmp_path / "a/b/file"
    assert (file.read_bytes(), file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (
        "tëxt".encode(),
        0o600,
        0o700,
    )


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o644)
    replace_bytes(str(file), b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o644)


def test_replacing_leaves_nothing_else_behind(tmp_path: Path) -> None:
    for text in ("one", "two"):
        replace_text(str(tmp_path / "file"), text)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "two"}


def test_a_file_named_without_a_folder_is_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replace_text("file", "x")
    assert (tmp_path / "file").read_text() == "x"


def test_a_link_stays_a_link_and_its_target_changes(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/config").write_text("old")
    (tmp_path / "config").symlink_to("dotfiles/config")
    replace_text(str(tmp_path / "config"), "new")
    assert (os.readlink(tmp_path / "config"), (tmp_path / "dotfiles/config").read_text()) == ("dotfiles/config", "new")


def test_the_temporary_file_is_beside_the_target_of_a_link_and_not_beside_the_link(tmp_path: Path) -> None:
    """A rename cannot cross file systems, and a dotfiles repository may be on another one."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "config").symlink_to("dotfiles/config")
    before = tmp_path.stat().st_mtime_ns
    replace_text(str(tmp_path / "config"), "new")
    assert (tmp_path.stat().st_mtime_ns, (tmp_path / "dotfiles/config").read_text()) == (before, "new")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    (tmp_path / "file/inner").write_text("old")
    with pytest.raises(OSError, match="not a regular file"):
        replace_text(str(tmp_path / "file"), "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


WRITER = """
import sys
from metier.sources.atomic_write import replace_bytes
print("up", flush=True)
while True:
    replace_bytes(sys.argv[1], b"a" * 3_000_000)
    replace_bytes(sys.argv[1], b"b" * 3_000_000)
"""


def test_a_process_killed_in_the_middle_leaves_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"b" * 3_000_000)
    for round_ in range(5):
        process = python(WRITER, file)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 * round_)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert file.read_bytes() in (b"a" * 3_000_000, b"b" * 3_000_000)


def test_a_reader_never_sees_a_part(tmp_path: Path) -> None:
    file = tmp_path / "file"
    replace_bytes(str(file), b"a" * 100_000)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            replace_bytes(str(file), b"a" * 100_000)
            replace_bytes(str(file), b"b" * 100_000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        seen = {file.read_bytes() for _ in range(300)}
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"a" * 100_000, b"b" * 100_000}


def test_only_one_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    code = """
    import sys
    from metier.sources.atomic_write import file_lock
    for _ in range(50):
        with file_lock(sys.argv[1]):
            with open(sys.argv[1]) as stream:
                number = int(stream.read())
            with open(sys.argv[1], "w") as stream:
                stream.write(str(number + 1))
    """
    (tmp_path / "number").write_text("0")
    processes = [python(code, tmp_path / "number") for _ in range(4)]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 4
    assert (tmp_path / "number").read_text() == "200"


def test_a_lock_is_given_back_when_its_holder_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), file_lock(str(tmp_path / "file")):
        raise ZeroDivisionError
    with file_lock(str(tmp_path / "file")):
        assert (tmp_path / "file.lock").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, make: Callable[[Path], None], linked: bool) -> None:
    """A link to a device, written by root, must not end with a file in the place of the device."""
    special = tmp_path / "special"
    make(special)
    mode = special.stat().st_mode
    (tmp_path / "link").symlink_to("special")
    with pytest.raises(OSError, match="not a regular file"):
        replace_bytes(str(tmp_path / "link" if linked else special), b"data")
    assert special.stat().st_mode == mode
    assert sorted(os.listdir(tmp_path)) == ["link", "special"]
