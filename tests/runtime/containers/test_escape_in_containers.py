"""The escape suite once more against containers: another engine, the same promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from metier.runtime import ContainerRunner

ROOT = Path(__file__).resolve().parents[3]
# About bubblewrap, Landlock and the levels of the sandbox, and runs with network access, which containers refuse.
LEFT_OUT = "not e40 and not e49 and not every_level_of and not network_allowed and not (e12 and True)"

pytestmark = pytest.mark.skipif(ContainerRunner().best() is None, reason="no container engine works here")


def test_the_whole_suite_holds_in_containers() -> None:
    suite = [path for path in sorted((ROOT / "tests/runtime/sandbox").glob("test_escape_*.py")) if "as_user" not in path.stem]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", LEFT_OUT, *map(str, suite)]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        words, cwd=ROOT, env={**environment, "METIER_ESCAPE_RUNNER": "container"}, capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d{3,} passed", done.stdout), done.stdout[-500:]
