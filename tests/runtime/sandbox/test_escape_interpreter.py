"""Escape suite, E50: programs of a project that pose as an interpreter, where the user's PATH leads to them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metier.runtime.sandbox.isolation import IsolationLevel
from runtime.sandbox.escape.stage import Stage, at_every_level, note

_CALLER = """
import asyncio, sys
from metier.runtime import IsolationLevel, Limits, ScriptRun
from runtime.sandbox.escape.runner_choice import runner_at
level = IsolationLevel(sys.argv[1])
for script in ("scripts/say.sh", "scripts/say.py"):
    run = ScriptRun(folder=sys.argv[2], script=script, limits=Limits(require=level))
    print(asyncio.run(runner_at(level).run(run)).stdout, end="")
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@at_every_level
def test_e50_an_interpreter_in_the_project_never_runs(stage: Stage, level: IsolationLevel) -> None:
    note("E50", level, "held")
    project = stage.root / "project"
    (project / "bin").mkdir(parents=True)
    for name in ("python3", "python", "sh", "bash", "node", "uv", "bwrap", "systemd-run"):
        for folder in (project, project / "bin"):
            (folder / name).write_text(f'#!/bin/sh\necho planted > {stage.root}/planted\nexec /usr/bin/{name} "$@"\n')
            (folder / name).chmod(0o755)
    (stage.skill / "scripts/say.sh").write_text("echo said")
    (stage.skill / "scripts/say.py").write_text("print('said')")
    path = os.pathsep.join((".", "", "bin", "./bin", "/usr/local/bin", "/usr/bin", "/bin"))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", _CALLER, level, str(stage.skill)]
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("said\nsaid\n", "")
    assert not (stage.root / "planted").exists()
