"""Every command and every Python example in README and docs runs, prints what the page says it prints, and type-checks.

In the pages a fenced block is an example when its language is `console` (lines that begin with `$ ` are run by bash in an
empty home; what follows, if anything, must appear in the output, `...` standing for anything) or `python` (run as a script).
Each page starts in a fresh folder and its blocks run in order, so a page reads like a session. A block that cannot run here
(another program, a network) carries another language such as `sh` or `text`. The tutorials run as journeys, on a terminal.

mypy --strict and pyright read the Python examples as a user's own files: in a folder without our settings, against metier as it
is installed, whose types count only because of its `py.typed`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.environment import ROOT, child_environment, find_uv

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    command: str
    expected: str
    line: int


def steps(page: Path) -> Iterator[tuple[str, Step]]:
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            yield "python", Step(block[2], "", line)
            continue
        parts = re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]
        for part in parts:
            command, _, expected = part.partition("\n")
            while command.endswith("\\"):
                more, _, expected = expected.partition("\n")
                command = f"{command}\n{more}"
            yield "console", Step(command, expected.strip("\n"), line)


def environment(home: Path) -> dict[str, str]:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": tools, "LANG": "C.UTF-8", "EDITOR": "true", "METIER_DOCS": "1"}


def matches(expected: str, output: str) -> bool:
    pattern = ".*?".join(re.escape(part.strip("\n")) for part in expected.split("..."))
    return re.search(pattern, output, re.DOTALL) is not None


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name != "tutorials"], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_every_example_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    for language, step in steps(page):
        if language == "python":
            command = [sys.executable, "-W", "error", "-c", step.command]
        else:
            command = ["bash", "-c", f"set -o pipefail\n{step.command}"]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(home),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        where = f"{page.relative_to(ROOT)}:{step.line}: {step.command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, where
        assert done.returncode == 0 or step.expected, where
        assert matches(step.expected, done.stdout + done.stderr), f"{where}\n--- expected\n{step.expected}"


@pytest.fixture(scope="session")
def installed_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has metier from its wheel, and the other packages of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    python = folder / "bin" / "python"
    uv = [*find_uv()]
    wheel = ["--reinstall-package", "metier", "--no-deps", "--no-config", "--no-cache", str(ROOT)]
    for words in (["venv", str(folder), "--python", sys.executable], ["pip", "install", "--python", str(python), *wheel]):
        subprocess.run([*uv, words[0], "--quiet", *words[1:]], env=child_environment(), check=True)
    # The line adds a folder and reads no .pth file there, so the editable metier of this environment stays out.
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.fixture(scope="session")
def python_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each Python example as a file of its own."""
    folder = tmp_path_factory.mktemp("examples")
    for page in PAGES:
        name = re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())
        for language, step in steps(page):
            if language == "python":
                (folder / f"{name}_{step.line}.py").write_text(step.command, encoding="utf-8")
    for journey in (ROOT / "tests" / "journeys" / "python.md", ROOT / "docs" / "tutorials" / "python.md"):
        text = journey.read_text(encoding="utf-8")
        for file, code in re.findall(r"^```file (\w+\.py)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            (folder / file).write_text(code, encoding="utf-8")
    return folder


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_every_python_example_passes_a_type_checker(checker: str, installed_python: Path, python_examples: Path) -> None:
    tools = Path(sys.executable).parent
    if checker == "mypy":
        options = ["--strict", "--config-file=", "--cache-dir=/dev/null", "--python-executable", str(installed_python)]
        command = [str(tools / "mypy"), *options, "."]
    else:
        command = [str(tools / "basedpyright"), "--level", "error", "--pythonpath", str(installed_python), "."]
    done = subprocess.run(
        command, cwd=python_examples, env=environment(python_examples), capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_are_those_of_the_installed_package(installed_python: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import metier\n\nmetier.discover(1)\nreveal_type(metier.discover('skills'))\n")
    command = [str(Path(sys.executable).parent / "basedpyright"), "--pythonpath", str(installed_python), "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert ("reportArgumentType" in done.stdout, '"Catalog"' in done.stdout) == (True, True), done.stdout


def test_every_command_group_has_a_page() -> None:
    from metier.cli.core.commands import GROUPS

    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for group, commands in GROUPS.items():
        for name in commands:
            assert f"metier {group} {name}".replace("  ", " ") in text, f"no page shows `metier {group} {name}`"


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
