"""The profile for sandbox-exec of macOS. It is tested as text; it has not been run on a Mac.

`sandbox-exec` is deprecated, but all sandboxes for command lines on macOS use it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

__all__ = ["PROGRAM", "profile"]

PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = ("/System", "/Library/Apple", "/private/var/db/dyld", "/private/etc/ssl", "/private/var/db/timezone")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def profile(*, readable: Iterable[str], writable: Sequence[str]) -> str:
    """Returns a profile that denies everything except reading and writing these paths."""
    seen = dict.fromkeys(os.path.realpath(path) for path in (*_SYSTEM, *readable, *writable))
    writes = "\n".join(f"  (subpath {_quote(os.path.realpath(path))})" for path in writable)
    reads = "\n".join(f"  (subpath {_quote(path)})" for path in seen)
    devices = "\n".join(f"  (literal {_quote(path)})" for path in _DEVICES)
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        '(allow file-read-metadata (literal "/") (literal "/private") (literal "/private/tmp") (literal "/private/var"))',
        f"(allow file-read*\n{reads}\n{devices})",
        f"(allow file-write*\n{writes})",
        f"(allow file-write-data\n{devices})",
    ]
    return "\n".join(lines) + "\n"


def _quote(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
