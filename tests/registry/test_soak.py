"""Minutes of servers, clients and maintenance commands on one registry, killed at random: nothing acknowledged is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not os.environ.get("METIER_FULL"), reason="long runs take METIER_FULL=1")
@pytest.mark.parametrize("options", ["--engine sqlite", "--engine sqlite --workers 3", "--engine postgresql"])
def test_nothing_acknowledged_is_lost_in_three_minutes(options: str) -> None:
    words = [sys.executable, "-m", "benchmarks.registry_soak", "--minutes", "3", "--every", "10", *options.split()]
    ended = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
