"""The user's editor."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping

from metier.errors import RefusedError
from metier.sources import find_command

__all__ = ["edit_file"]


def edit_file(file: str, environment: Mapping[str, str]) -> None:
    """Opens a file in the user's editor. Raises RefusedError if the editor fails."""
    editor = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        words = shlex.split(editor)
    except ValueError:
        words = []
    program = find_command(words[0], environment.get("PATH")) if words else None
    if program is None:
        raise RefusedError(f"cannot start the editor {editor!r}", rule="editor", hint=f"set EDITOR; the file is at {file}")
    status = subprocess.run([program, *words[1:], file], check=False).returncode
    if status:
        raise RefusedError(f"the editor exited with status {status}", rule="editor", hint=f"the file is at {file}")
