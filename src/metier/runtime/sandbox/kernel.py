"""Linux system calls by which a process gives up rights before it becomes the script.

Uses ctypes and no other module of metier: the small process that starts scripts imports it (see `spawner`).
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct

__all__ = ["adopt_orphans", "die_with", "drop_capabilities", "forbid_new_privileges", "install_filter", "system_call"]

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT = 1, 24, 28, 47
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 36, 38, 22
_SECCOMP_MODE_FILTER = 2
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECUREBITS = 0x2F  # NOROOT, NO_SETUID_FIXUP and KEEP_CAPS off, each with its lock: root's exec gives nothing back
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Makes a raw system call. Raises OSError if it fails."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    done: int = _libc.syscall(ctypes.c_long(number), *words)
    if done < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return done


def adopt_orphans() -> None:
    """Makes orphans among our descendants our children, so that a daemon cannot escape."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Kills this process when its parent ends, also if it has ended already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def forbid_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Drops all capabilities and the ways to regain them. Root is then an ordinary user with a special id."""
    if os.geteuid() == 0 or _effective():
        for number in range(64):
            try:
                _prctl(_PR_CAPBSET_DROP, number)
            except OSError:
                break  # past the last one of this kernel, or not permitted
        try:
            _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
            _prctl(_PR_SET_SECUREBITS, _SECUREBITS)
        except OSError:
            pass  # not permitted: the empty sets below are checked
        header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        system_call(_CAPSET[os.uname().machine], header, bytes(24))
    if _effective():
        raise OSError("capabilities could not be dropped")


def install_filter(program: bytes) -> None:
    """Installs the filter for this process and all that it starts. Call `forbid_new_privileges` first."""
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head))


def _effective() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16)
    return 0


def _prctl(option: int, *arguments: int) -> None:
    words = [ctypes.c_ulong(word) for word in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(ctypes.c_int(option), *words) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
