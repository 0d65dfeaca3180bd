"""The Python interpreter of tests that need a module, such as pytest."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from metier.runtime import Interpreters
from metier.sources import find_command, safe_environment

__all__ = ["interpreters_with"]

_SECONDS = 30


def interpreters_with(module: str, *, path: str | None = None) -> Interpreters | None:
    """Interpreters whose Python has this module. None means the default ones: theirs has it, or no Python has it."""
    usual = find_command("python3", path)
    if usual and _has_module(usual, module):
        return None
    if importlib.util.find_spec(module) is None:
        return None
    return Interpreters(which=lambda name: sys.executable if name == "python3" else find_command(name, path))


def _has_module(python: str, module: str) -> bool:
    try:
        done = subprocess.run(
            [python, "-I", "-c", f"import {module}"], capture_output=True, check=False, env=safe_environment(),
            stdin=subprocess.DEVNULL, timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        # It is not a Python that works.
        return False
    return done.returncode == 0
