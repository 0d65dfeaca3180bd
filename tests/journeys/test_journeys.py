"""Whole journeys, from an empty home to the end, as a person types them. Each is a page in this folder.

`python3 tools/test.py tests/journeys -k NAME -rP` prints what the terminal shows.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from agent_programs import program_file
from journeys.conftest import CLAWHUB, OTHER_INSTALLER
from journeys.transcript import ShellTerminal, run_journey
from tools.environment import ROOT

PAGES = sorted(Path(__file__).parent.glob("*.md"))
TUTORIALS = [page for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")) if page.stem != "index"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_journey_goes_as_written(page: Path, terminal: ShellTerminal) -> None:
    if page.stem == "eval-agent":
        program_file("claude-code")
    if page.stem == "other-installer" and not OTHER_INSTALLER.exists():
        pytest.skip("skills is not installed (npm ci in tests/hosts/programs)")
    if page.stem == "clawhub-program" and not CLAWHUB.exists():
        pytest.skip("clawhub is not installed (npm ci in tests/hosts/programs)")
    if page.stem == "oci" and not shutil.which("docker-registry"):
        pytest.skip("docker-registry is not installed")
    run_journey(page, terminal)
    sys.stdout.write(terminal.transcript)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_tutorial_goes_as_written(page: Path, terminal: ShellTerminal) -> None:
    run_journey(page, terminal)
    sys.stdout.write(terminal.transcript)
