"""Every command and every Python example in README and docs runs, and prints what the page says it prints.

In the pages a fenced block is an example when its language is `console` (lines that begin with `$ ` are run by bash in an
empty home; what follows, if anything, must appear in the output, `...` standing for anything) or `python` (run as a script).
Each page starts in a fresh folder and its blocks run in order, so a page reads like a session. A block that cannot run here
(another program, a network) carries another language such as `sh` or `text`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
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
