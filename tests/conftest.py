"""Settings, fixtures and the closing line that all tests share."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from registry.servers import Postgres

_LEFT_OUT = pytest.StashKey[list[str]]()

# The escape suite runs once more as an ordinary user, in a Python that has nothing but pytest.
if find_spec("hypothesis"):
    from hypothesis import settings

    # The same examples in every run, so that a failure means a change; METIER_FULL=1 looks for new ones.
    settings.register_profile("repeatable", derandomize=True, deadline=None)
    settings.register_profile("full", deadline=None)
    settings.load_profile("full" if os.environ.get("METIER_FULL") else "repeatable")


def pytest_configure() -> None:
    # A shell starts a background command with Ctrl-C ignored, and every program that a test starts would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Collects the reasons for skipped tests; `pytest_unconfigure` prints them after pytest's own last line."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple)
    )
    config.stash[_LEFT_OUT] = [f"{reason} ({count} {'test' if count == 1 else 'tests'})" for reason, count in reasons.items()]


def pytest_unconfigure(config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, None)
    if left_out is not None:
        print(f"left out on this machine: {'; '.join(sorted(left_out)) or 'nothing'}")  # noqa: T201 - it must come after pytest's own last line


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Postgres:
    """A PostgreSQL of the test run's own, which all its workers share."""
    from registry.servers import shared_postgres

    base = tmp_path_factory.getbasetemp()
    return shared_postgres((base if worker_id == "master" else base.parent) / "registry-servers")


@pytest.fixture(scope="session", autouse=True)
def no_real_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps a test that forgets to pass a folder away from the developer's own settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METIER_HOME", str(tmp_path_factory.mktemp("no-home") / ".metier"))
        for name in ("SKILLS_DIR", "SKILLS_AUTO_SELECT", "SKILLS_MAX_ACTIVE", "METIER_TRUST"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder like tmp_path that other users can read."""
    folder = Path(tempfile.mkdtemp(prefix="metier-open-"))
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)
