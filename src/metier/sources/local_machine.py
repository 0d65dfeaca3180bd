"""Facts about this machine, each looked up once."""

from __future__ import annotations

import importlib.util
import shutil
import sys

__all__ = ["LocalMachine"]

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


class LocalMachine:
    """The `catalog.Environment` of the running process."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        # `which` costs a stat for every PATH entry, and fifty skills tend to need the same three commands.
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
            self.commands[name] = shutil.which(name, path=self._path)
        return self.commands[name] is not None

    def has_package(self, name: str) -> bool:
        if name not in self.packages:
            self.packages[name] = (
                _importable(name.replace("-", "_")) or _importable(_IMPORTS.get(name.lower(), name)) or _is_installed(name)
            )
        return self.packages[name]


# Where the name to install differs from the name to import.
_IMPORTS = {
    "pillow": "PIL",
    "pyyaml": "yaml",
    "opencv-python": "cv2",
    "scikit-learn": "sklearn",
    "beautifulsoup4": "bs4",
}


def _is_installed(name: str) -> bool:
    # Imported here: only a package that nothing can be imported by the name of pays for it.
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
