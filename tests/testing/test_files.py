"""Our own implementations of Files, under the suite that we ship."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from metier.sources import DiskFiles
from metier.spec import Files, MemoryFiles
from metier.testing import FilesConformance


class TestMemoryFiles(FilesConformance):
    def make(self, contents: Mapping[str, bytes]) -> Files:
        return MemoryFiles(contents)


class TestDiskFiles(FilesConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self, contents: Mapping[str, bytes]) -> Files:
        for path, data in contents.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return DiskFiles(self.folder)
