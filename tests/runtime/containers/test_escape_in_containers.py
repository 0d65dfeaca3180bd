"""The escape suite once more against containers, as root and as an ordinary user: another engine, the same promises."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.runtime import ContainerRunner
from runtime.sandbox.test_escape_as_user import USER, run_as_user

ROOT = Path(__file__).resolve().parents[3]
# About bubblewrap, Landlock and the levels of the sandbox.
ELSEWHERE = ("as_user",)
LEFT_OUT = "not e40 and not e49 and not every_level_of and not network_allowed and not (e12 and True)"

pytestmark = pytest.mark.skipif(ContainerRunner().best() is None, reason="no container engine works here, see `metier doctor`")


@pytest.fixture
def ground() -> Iterator[Path]:
    """A folder of an ordinary user's, on a short path: podman makes sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix="metier-user-"))
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)


def test_the_whole_suite_holds_in_containers() -> None:
    files = sorted((ROOT / "tests/runtime/sandbox").glob("test_escape_*.py"))
    suite = [path for path in files if not path.stem.endswith(ELSEWHERE)]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", LEFT_OUT, *map(str, suite)]
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        words, cwd=ROOT, env={**environment, "METIER_ESCAPE_RUNNER": "container"}, capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d{3,} passed", done.stdout), done.stdout[-500:]


@pytest.mark.skipif("METIER_FULL" not in os.environ, reason="long runs take METIER_FULL=1")
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is running the whole suite already")
def test_the_whole_suite_holds_in_containers_without_root(ground: Path) -> None:
    runtime = ground / "run"
    runtime.mkdir(mode=0o700)
    os.chown(runtime, USER, USER)
    try:
        run_as_user(ground, "-k", LEFT_OUT, METIER_ESCAPE_RUNNER="container", XDG_RUNTIME_DIR=str(runtime))
    finally:
        # Podman keeps a process for each user, which holds the user namespace.
        for file in runtime.glob("libpod/tmp/pause.pid"):
            os.kill(int(file.read_text()), signal.SIGKILL)
