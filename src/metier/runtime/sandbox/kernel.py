"""What a process asks of the Linux kernel before it becomes the script: fewer rights, for good.

ctypes only, and nothing of metier: this is imported by the small process that starts scripts (see `keeper`).
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
    """The raw call; OSError where the kernel says no."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    done: int = _libc.syscall(ctypes.c_long(number), *words)
    if done < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return done


def adopt_orphans() -> None:
    """Whatever our descendants leave behind becomes our child, so that a daemon cannot slip away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Be killed when the parent ends. It may have ended before we asked."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def forbid_new_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """All of them, and the ways to get them back: for root this is what makes it an ordinary user with a special number."""
    if os.geteuid() == 0 or _effective():
        for number in range(64):
            try:
                _prctl(_PR_CAPBSET_DROP, number)
            except OSError:
                break  # past the last one that this kernel knows, or not ours to drop
        try:
            _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
            _prctl(_PR_SET_SECUREBITS, _SECUREBITS)
        except OSError:
            pass  # not allowed to: then the empty sets below are what counts, and they are checked
        header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        system_call(_CAPSET[os.uname().machine], header, bytes(24))
    if _effective():
        raise OSError("the capabilities could not be dropped")


def install_filter(program: bytes) -> None:
    """From here on the filter holds for this process and all it starts. Needs `forbid_new_privileges` first."""
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
