"""Commands inside the sandbox that are not the system's: metier, and the Python that prepared packages were built for.

The PATH of the sandbox holds only the system's programs. A line that calls one of these gets it as a shell function, and may
read the folders of the Python that it runs in.
"""

from __future__ import annotations

import os
import re
import shlex
import sys

from metier.runtime.scripts.interpreters import Interpreters

__all__ = ["own_program", "python_program"]

_PYTHON = re.compile(r"(?:^|[\s;&|(])python3?\s")
_CALL = re.compile(r"(?:^|[\s;&|(])metier\s")


def own_program(line: str) -> tuple[str, tuple[str, ...]]:
    """Returns the text to put before a line, and the folders to read; nothing if the line does not call metier."""
    if not _CALL.search(line) or not sys.executable:
        return "", ()
    command = Interpreters(which=lambda _: sys.executable).command("metier.py", b"")
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
    # On the first line of the program, so that the numbers of lines in messages stay.
    return f'metier() {{ {shlex.quote(command.words[0])} -P -m metier "$@"; }}; ', (*command.readable, package)


def python_program(line: str, python: str) -> tuple[str, tuple[str, ...]]:
    """Returns the same for a line that calls Python, and a certain Python."""
    if not _PYTHON.search(line):
        return "", ()
    command = Interpreters(which=lambda _: python).command("code.py", b"")
    body = f'{{ {shlex.quote(command.words[0])} "$@"; }}'
    return f"python3() {body}; python() {body}; ", command.readable
