"""The escape suite once more as an ordinary user, when root runs the tests: rights differ, promises do not."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# No other process on the machine counts towards its limits, and it owns no files.
USER = 54321
PACKAGES = (
    "_pytest",
    "pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "yaml",
    "yaml_rs",
    "pygments",
    "_yaml",
    "py",
    "exceptiongroup",
    "tomli",
    "h11",
    "cryptography",
    "cffi",
    "_cffi_backend",
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is running the whole suite already")


@pytest.fixture
def ground() -> Iterator[Path]:
    """A folder of that user's, with nothing of root's above it that it may not pass."""
    folder = Path(tempfile.mkdtemp(prefix="metier-user-"))
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)


def is_open_to_all(path: Path) -> bool:
    """Returns True if every user may read the path and pass every folder above it."""
    real = path.resolve()
    return bool(real.stat().st_mode & stat.S_IROTH) and all(above.stat().st_mode & stat.S_IXOTH for above in real.parents)


def python_for_others(ground: Path) -> Path:
    """This interpreter, or a copy of it where it lives in a home that others may not enter (pyenv of root's)."""
    executable = Path(sys.executable).resolve()
    if is_open_to_all(executable):
        return executable
    base = Path(sys.base_prefix)
    copy = ground / "python"
    library = Path(sysconfig.get_path("stdlib")).relative_to(base)
    leave = shutil.ignore_patterns(
        "test", "tests", "site-packages", "__pycache__", "idlelib", "tkinter", "ensurepip", "config-*", "*.a"
    )
    shutil.copytree(base / library, copy / library, ignore=leave, symlinks=True)
    (copy / "bin").mkdir()
    shutil.copy(executable, copy / "bin" / executable.name)
    for shared in (base / "lib").glob("libpython*.so*"):
        shutil.copy(shared, copy / "lib", follow_symlinks=False)
    return copy / "bin" / executable.name


def packages_for_others(ground: Path) -> Path:
    """Only what the suite imports: the whole environment would be a gigabyte."""
    copy = ground / "packages"
    copy.mkdir()
    source = Path(pytest.__file__).parents[1]
    for name in PACKAGES:
        for found in (source / name, *source.glob(f"{name}.*"), *source.glob(f"{name}-*.dist-info")):
            if found.is_dir():
                shutil.copytree(found, copy / found.name, dirs_exist_ok=True)
            elif found.is_file():
                shutil.copy(found, copy)
    return copy


def test_the_whole_suite_holds_for_an_ordinary_user(ground: Path) -> None:
    run_as_user(ground)


def run_as_user(ground: Path, *options: str, **variables: str) -> None:
    """Runs the suite as that user, with more options of pytest and more variables."""
    python, packages = python_for_others(ground), packages_for_others(ground)
    if subprocess.run([python, "-c", ""], user=USER, group=USER, extra_groups=[], env={}, check=False).returncode:
        pytest.skip("a copy of this Python does not start for another user")
    shutil.copytree(ROOT / "src", ground / "src")
    shutil.copytree(ROOT / "tests" / "runtime", ground / "tests" / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "builders.py"):
        shutil.copy(ROOT / "tests" / name, ground / "tests")
    suite = [
        str(path)
        for path in sorted((ground / "tests/runtime/sandbox").glob("test_escape_*.py"))
        if path.stem != "test_escape_as_user"
    ]
    home = ground / "home"
    home.mkdir()
    os.chown(home, USER, USER)
    table = os.environ.get("METIER_ESCAPE_TABLE")
    if table and Path(table).exists():
        os.chmod(table, 0o666)  # both write to it
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (ground / "src", ground / "tests", packages))),
        # The copy's own library, not one of the system's Python of the same name, which lacks what `ssl` needs.
        "LD_LIBRARY_PATH": str(python.parents[1] / "lib"),
        **({"METIER_ESCAPE_TABLE": table} if table else {}), **variables,
    }  # fmt: skip
    words = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "--rootdir",
        str(ground),
        *options,
        *suite,
    ]
    done = subprocess.run(
        words, cwd=ground, env=environment, user=USER, group=USER, extra_groups=[], capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d{3,} passed", done.stdout), done.stdout[-500:]
