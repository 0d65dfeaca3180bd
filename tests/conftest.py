"""What every test stands on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# The escape suite runs once more as an ordinary user, in a Python that has nothing but pytest.
if find_spec("hypothesis"):
    from hypothesis import settings

    # The same examples at every run, so that a red run means a change; METIER_FULL=1 looks for new ones.
    settings.register_profile("house", derandomize=True, deadline=None)
    settings.register_profile("full", deadline=None)
    settings.load_profile("full" if os.environ.get("METIER_FULL") else "house")


@pytest.fixture(scope="session", autouse=True)
def no_real_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever a test forgets to pass must not find, or change, the developer's own settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METIER_HOME", str(tmp_path_factory.mktemp("no-home") / ".metier"))
        for name in ("SKILLS_DIR", "SKILLS_AUTO_SELECT", "SKILLS_MAX_ACTIVE", "METIER_TRUST"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def open_path() -> Iterator[Path]:
    """Like tmp_path, but another user can look into it."""
    folder = Path(tempfile.mkdtemp(prefix="metier-open-"))
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)
