"""Landlock: a process gives up access to all files except named ones, without root.

Its protection depends on its version (ABI). It never covers modes, owners and times of files; the system call filter does.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable

from .kernel import system_call

__all__ = ["READ", "WRITE", "abi", "confine"]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_ABI_1 = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_NETWORK = 0b11  # bind and connect of TCP
_SCOPES = 0b11  # abstract UNIX sockets and signals stay inside
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

READ = _EXECUTE | _READ_FILE | _READ_DIR
WRITE = _ABI_1 | _REFER | _TRUNCATE


def abi() -> int:
    """Returns the version of Landlock, or 0 without it."""
    try:
        return system_call(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def confine(readable: Iterable[str], writable: Iterable[str], *, version: int) -> None:
    """Restricts this process to these paths. Missing paths are ignored."""
    handled = _ABI_1
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= right if version >= since else 0
    words = (handled, _NETWORK, _SCOPES)[: 3 if version >= 6 else 2 if version >= 4 else 1]
    attributes = struct.pack(f"={len(words)}Q", *words)
    ruleset = system_call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for paths, rights in ((readable, READ), (writable, WRITE)):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _FILE_RIGHTS
        system_call(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)
