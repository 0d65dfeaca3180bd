"""The public API is what `metier` and its packages export. A change to it is a change of `public_api.txt`.

`TEST_GOLDEN=write pytest tests/project/test_public_api.py` writes that file again.
"""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import metier
from tools.environment import find_uv

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "public_api.txt"
SCRIPT = ROOT / "tests" / "data" / "public_api_script.py"
PUBLIC_SUBPACKAGES = ("metier.hosts.transcripts", "metier.registry.client", "metier.registry.server")
"""Packages inside a package that are public faces themselves."""
NOT_PUBLIC = {"metier.cli"}


def public_packages() -> list[str]:
    found = [f"metier.{module.name}" for module in pkgutil.iter_modules(metier.__path__) if module.ispkg]
    return ["metier", "metier.errors", *(name for name in found if name not in NOT_PUBLIC), *PUBLIC_SUBPACKAGES]


def public_names() -> list[str]:
    return sorted(
        f"{package}: {name}" for package in public_packages() for name in getattr(import_module(package), "__all__", ())
    )


def test_the_public_api_is_as_written_down() -> None:
    names = public_names()
    if os.environ.get("TEST_GOLDEN") == "write":
        GOLDEN.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    known = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert sorted(set(names) - set(known)) == [], "new; run with TEST_GOLDEN=write if they are meant to be public"
    assert sorted(set(known) - set(names)) == [], "gone; run with TEST_GOLDEN=write if that is meant"


@pytest.mark.parametrize("package", public_packages())
def test_every_public_name_exists(package: str) -> None:
    module = import_module(package)
    missing = []
    for name in module.__all__:
        try:
            getattr(module, name)
        except ImportError as error:
            # An extra that is not installed here; a name of ours must exist.
            if (error.name or "").startswith("metier"):
                missing.append(name)
        except AttributeError:
            missing.append(name)
    assert missing == []


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has metier's wheel and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [*find_uv(), "build", "--wheel", "--offline", "--quiet", "--out-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, timeout=300)
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    found = folder / "venv" / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([found, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return found


def test_a_script_over_the_public_api_is_clean_for_mypy(python: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path)]
    command += ["--python-executable", str(python), str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_script_over_the_public_api_is_clean_for_pyright(python: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_bytes(SCRIPT.read_bytes())
    # Our dependencies, as they are installed here.
    options = {"typeCheckingMode": "strict", "extraPaths": [sysconfig.get_path("purelib")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(options))
    checker = Path(sys.executable).with_name("basedpyright")
    command = [str(checker), "--project", str(tmp_path), "--pythonpath", str(python)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
