"""The shell that every test of the command line types into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import Shell, Zygote


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    parent = Zygote(tmp_path_factory.mktemp("zygote"))
    yield parent
    parent.end()


@pytest.fixture
def shell(tmp_path: Path, zygote: Zygote) -> Shell:
    return Shell(tmp_path, zygote)
