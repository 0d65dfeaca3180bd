"""The shell that every test of the command line types into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import ForkServer, Shell


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    parent = ForkServer(tmp_path_factory.mktemp("fork_server"))
    yield parent
    parent.end()


@pytest.fixture
def shell(tmp_path: Path, fork_server: ForkServer) -> Shell:
    return Shell(tmp_path, fork_server)
