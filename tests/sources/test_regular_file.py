"""State files are regular files: anything else in their place is an error at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from metier.sources import inner_folder, open_regular, read_regular


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


SPECIAL = pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, listen, lambda path: path.symlink_to(path.parent)])


@SPECIAL
def test_what_is_no_regular_file_gives_an_error_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "state.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "state.json")
    with inner_folder(str(tmp_path)) as folder, pytest.raises(OSError, match="not a regular file"):
        open_regular("state.json", dir_fd=folder)


def test_a_link_is_followed_by_path_and_refused_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"text")
    (tmp_path / "link").symlink_to("real")
    assert read_regular(tmp_path / "link") == b"text"
    with inner_folder(str(tmp_path)) as folder:
        assert read_regular("real", dir_fd=folder) == b"text"
        with pytest.raises(OSError, match="not a regular file"):
            read_regular("link", dir_fd=folder)
