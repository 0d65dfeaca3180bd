"""Commands, packages and versions on this machine, each looked up once."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

__all__ = ["LocalMachine", "find_command", "safe_environment"]

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


class LocalMachine:
    """The `catalog.Environment` of the running process."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        # A search costs a stat per PATH entry, and fifty skills usually need the same three commands.
        self.commands: dict[str, str | None] = {}
        self.packages: dict[str, bool] = {}
        self._versions: dict[str, tuple[int, ...]] = {}

    @property
    def python(self) -> tuple[int, ...]:
        return sys.version_info[:3]

    @property
    def system(self) -> str:
        return _SYSTEMS.get(sys.platform, sys.platform)

    def has_command(self, name: str) -> bool:
        if name not in self.commands:
            self.commands[name] = find_command(name, self._path)
        return self.commands[name] is not None

    def has_package(self, name: str) -> bool:
        if name not in self.packages:
            self.packages[name] = (
                _importable(name.replace("-", "_")) or _importable(_IMPORTS.get(name.lower(), name)) or _is_installed(name)
            )
        return self.packages[name]

    def version_of(self, name: str) -> tuple[int, ...]:
        """Returns the version that a program on PATH prints; empty if it prints none. Only for programs that we know."""
        if name not in self._versions:
            path = self.commands[name] if self.has_command(name) else None
            self._versions[name] = _printed_version(path) if path else ()
        return self._versions[name]


def _printed_version(path: str) -> tuple[int, ...]:
    # Imported here: few texts name a version.
    import re
    import subprocess

    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=5, env=safe_environment(), check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.search(rb"\d+(?:\.\d+){1,2}", done.stdout + done.stderr)
    return tuple(int(part) for part in found[0].split(b".")) if found else ()


def find_command(name: str, path: str | None = None) -> str | None:
    """Returns the first executable of that name on PATH. Entries that are not absolute, such as `.`, are ignored.

    With such an entry, the current folder, which may be a cloned project, would choose the programs that we start. Every
    program is looked up here. `shutil.which` finds the same ones otherwise, and its import loads every compression library.
    """
    if os.path.dirname(name):
        return name if _is_executable(name) else None
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    for folder in absolute_entries(path):
        file = os.path.join(folder, name)
        if _is_executable(file):
            return file
    return None


def absolute_entries(path: str) -> list[str]:
    return [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]


def safe_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment for a program that looks up others itself: with only the absolute entries of PATH."""
    given = dict(os.environ if environment is None else environment)
    if "PATH" in given:
        given["PATH"] = os.pathsep.join(absolute_entries(given["PATH"]))
    return given


def _is_executable(file: str) -> bool:
    return os.path.exists(file) and os.access(file, os.F_OK | os.X_OK) and not os.path.isdir(file)


# Packages whose import name differs from their install name.
_IMPORTS = {
    "pillow": "PIL",
    "pyyaml": "yaml",
    "opencv-python": "cv2",
    "scikit-learn": "sklearn",
    "beautifulsoup4": "bs4",
}


def _is_installed(name: str) -> bool:
    # Imported here, because few packages get this far.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(name)
    except (PackageNotFoundError, ValueError):
        return False
    return True


def _importable(module: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False
