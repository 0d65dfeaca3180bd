"""Facts about this machine, each looked up once."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from metier.sources import LocalMachine, find_command


def command(folder: Path, name: str, mode: int = 0o755) -> Path:
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


def test_a_command_on_the_path_is_there(tmp_path: Path) -> None:
    command(tmp_path, "frob")
    machine = LocalMachine(str(tmp_path))
    assert (machine.has_command("frob"), machine.has_command("nope")) == (True, False)


def test_a_file_that_is_not_executable_is_not_a_command(tmp_path: Path) -> None:
    command(tmp_path, "frob", 0o644)
    (tmp_path / "folder").mkdir()
    machine = LocalMachine(str(tmp_path))
    assert (machine.has_command("frob"), machine.has_command("folder")) == (False, False)


def test_an_empty_path_has_no_commands() -> None:
    assert LocalMachine("").has_command("sh") is False


def test_a_command_is_looked_up_once(tmp_path: Path) -> None:
    file = command(tmp_path, "frob")
    machine = LocalMachine(str(tmp_path))
    first = machine.has_command("frob")
    file.unlink()
    assert (first, machine.has_command("frob"), LocalMachine(str(tmp_path)).has_command("frob")) == (True, True, False)
    assert machine.commands == {"frob": str(file)}


@pytest.mark.parametrize("name", ["hypothesis", "PyYAML", "pyyaml", "skills-ref", "skills_ref", "import-linter", "json"])
def test_a_package_is_found_by_the_name_it_is_imported_or_installed_by(name: str) -> None:
    assert LocalMachine().has_package(name) is True


@pytest.mark.parametrize("name", ["no-such-package", "", ".", "..x", "a b", "not!a!name"])
def test_a_package_that_is_not_there_is_missing(name: str) -> None:
    assert LocalMachine().has_package(name) is False


def test_the_python_is_this_one() -> None:
    assert LocalMachine().python == sys.version_info[:3]


def test_the_system_has_the_word_that_skills_use() -> None:
    assert LocalMachine().system == {"linux": "linux", "darwin": "macos", "win32": "windows"}[sys.platform]


@pytest.mark.parametrize("path", ["{bin}", "/nonexistent:{bin}", ":{bin}", "{bin}:", "", None, "{here}:{bin}"])
@pytest.mark.parametrize("name", ["tool", "./tool", "folder", "plain", "sh", "{bin}/tool", "", "no such"])
def test_a_command_on_an_absolute_path_is_found_where_the_standard_library_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str | None, name: str
) -> None:
    commands, here = tmp_path / "bin", tmp_path / "here"
    (commands / "folder").mkdir(parents=True)
    here.mkdir()
    command(commands, "tool")
    command(commands, "plain", 0o644)
    monkeypatch.chdir(here)
    monkeypatch.delenv("PATH") if path is None else monkeypatch.setenv("PATH", path.format(bin=commands, here=here))
    word = name.format(bin=commands)
    assert find_command(word) == shutil.which(word)
