"""The shell of the command line's tests, for this room too."""

from __future__ import annotations

from cli.conftest import fork_server, shell

__all__ = ["fork_server", "shell"]
