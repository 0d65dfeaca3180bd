"""The Homebrew formula is a Ruby file that pins the archive and every package by its digest."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools import homebrew

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def formula(tmp_path: Path) -> str:
    sdist = tmp_path / "metier.tar.gz"
    sdist.write_bytes(b"an archive")
    return homebrew.formula(sdist, "https://example.com/metier.tar.gz")


def test_everything_is_pinned(formula: str) -> None:
    digest = hashlib.sha256(b"an archive").hexdigest()
    assert f'url "https://example.com/metier.tar.gz"\n  sha256 "{digest}"' in formula
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [name for name, _, _ in homebrew.resources()]
    assert names == sorted(set(names))
    assert not {line.split(">=")[0] for line in project["dependencies"]} - set(names)
    assert not {"colorama", "httpx2-jsfetch"} & set(names), "packages of other platforms"
    assert formula.count("sha256 ") == len(names) + 1


def test_ruby_reads_it(formula: str, tmp_path: Path) -> None:
    if shutil.which("ruby") is None:
        pytest.skip("ruby is not installed")
    file = tmp_path / "metier.rb"
    file.write_text(formula)
    assert subprocess.run(["ruby", "-c", file], capture_output=True, text=True, check=True).stdout == "Syntax OK\n"
