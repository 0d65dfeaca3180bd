"""The shell of the command line's tests, for this room too."""

from __future__ import annotations

from cli.conftest import shell, zygote

__all__ = ["shell", "zygote"]
