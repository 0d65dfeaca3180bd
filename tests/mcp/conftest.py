"""The shell fixture of the command line's tests."""

from __future__ import annotations

from cli.conftest import fork_server, shell

__all__ = ["fork_server", "shell"]
