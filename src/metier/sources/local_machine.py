"""Commands, packages and versions on this machine, each looked up once."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["LocalMachine"]

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


class LocalMachine:
    """The `catalog.Environment` of the running process."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        # `which` costs a stat per PATH entry, and fifty skills usually need the same three commands.
        self.commands: dict[str, str | None] = {}
        self.packages: dict[str, bool] = {}

    @property
    def python(self) -> tuple[int, ...]:
        return sys.version_info[:3]

    @property
    def system(self) -> str:
        return _SYSTEMS.get(sys.platform, sys.platform)

    def has_command(self, name: str) -> bool:
        if name not in self.commands:
            # Imported here: it loads every compression library, and few skills need a command.
            import shutil

            self.commands[name] = shutil.which(name, path=self._path)
        return self.commands[name] is not None

    def has_package(self, name: str) -> bool:
        if name not in self.packages:
            self.packages[name] = (
                _importable(name.replace("-", "_")) or _importable(_IMPORTS.get(name.lower(), name)) or _is_installed(name)
            )
        return self.packages[name]


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
    try:
        return importlib.util.find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False
