"""An installation as the README describes it, and an empty home for each journey."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_programs import PROGRAM_FOLDER
from journeys.internet import internet
from journeys.transcript import ShellTerminal
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says
from tools.environment import ROOT, child_environment, find_uv

EXTRAS = ("agents", "mcp", "registry")


@pytest.fixture(scope="session")
def installed_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds metier, its extras and nothing else. All workers of a run share it."""
    shared = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else tmp_path_factory.getbasetemp()
    folder = shared / "installed"
    with open(shared / "installed.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            extras = [word for extra in EXTRAS for word in ("--extra", extra)]
            # uv would otherwise take the wheel that it built of an earlier state of this folder.
            words = ["sync", "--quiet", "--frozen", "--no-default-groups", "--no-editable", "--reinstall-package", "metier"]
            environment = {**child_environment(), "UV_PROJECT_ENVIRONMENT": str(folder)}
            subprocess.run([*find_uv(), *words, "--python", sys.executable, *extras], cwd=ROOT, env=environment, check=True)
            (folder / "done").touch()
    return folder / "bin"


TOOL_CALLS: dict[str, tuple[str, dict[str, Any]]] = {  # Any: arguments as a model sends them
    "count": ("word-count_count", {"args": ["one two three"]}),
    "salutation": ("greet", {"name": "Bob"}),
    "render": ("render-page_render", {"url": "https://example.com"}),
}


def _answer(request: ModelRequest) -> ModelAnswer:
    """Calls the tool that the message is about, tells an endless story, and else repeats the message."""
    if "tax return" in request.user and "Skill" in request.tools:
        return says("Done.") if request.results else calls("Skill", skill="tax-forms")
    for word, (tool, arguments) in TOOL_CALLS.items():
        if word in request.user and tool in request.tools and request.body["messages"][-1]["role"] == "user":
            return calls(tool, **arguments)
    if "story" in request.user:
        return says("Once upon a time. " + "And so on. " * 400, pause=0.02)
    return says(f"You said: *{request.user}*")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A scripted model; journeys have its address in MODEL_URL."""
    with ModelServer(_answer) as server:
        yield server


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables that lead to the journeys' own internet."""
    with internet(tmp_path_factory.mktemp("internet")) as variables:
        yield variables


@pytest.fixture
def terminal(installed_program: Path, model: ModelServer, web: dict[str, str]) -> Iterator[ShellTerminal]:
    with open_terminal(
        installed_program, {"MODEL_URL": model.url, "PROGRAMS": str(PROGRAM_FOLDER), "NO_COLOR": "1", **web}
    ) as shell:
        yield shell


@contextlib.contextmanager
def open_terminal(program: Path, variables: Mapping[str, str], *, columns: int = 160) -> Iterator[ShellTerminal]:
    """A shell in an empty home. `program` is the `bin` folder that has metier."""
    # A short path, so that messages that name it fit on a line of the terminal.
    folder = Path(tempfile.mkdtemp(prefix="journey-"))
    home = folder / "home"
    home.mkdir()
    tools = folder / "bin"
    tools.mkdir()
    # Only metier itself: the journey must not depend on other programs of that environment.
    (tools / "metier").symlink_to(program / "metier")
    environment = {
        "HOME": str(home),
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        "EDITOR": "true",
        # The terminal of a test does not answer where its cursor is.
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_CONFIG_NOSYSTEM": "1",
        **variables,
    }
    shell = ShellTerminal(home, environment, columns)
    try:
        yield shell
    finally:
        shell.close()
        shutil.rmtree(folder, ignore_errors=True)
