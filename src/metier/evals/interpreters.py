"""The Python interpreter of tests that need a module, such as pytest."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

from metier.runtime import Interpreters

__all__ = ["interpreters_with"]


def interpreters_with(module: str, *, path: str | None = None) -> Interpreters | None:
    """Interpreters whose Python has this module. None means the default ones: theirs has it, or no Python has it."""
    usual = shutil.which("python3", path=path)
    if usual and subprocess.run([usual, "-I", "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
        return None
    if importlib.util.find_spec(module) is None:
        return None
    return Interpreters(which=lambda name: sys.executable if name == "python3" else shutil.which(name, path=path))
