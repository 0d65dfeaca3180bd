"""Mounts a workspace: the user's folder below, whiteouts of hidden files above it, and a layer for writes on top.

Runs in the process that becomes bubblewrap, in a user and mount namespace of its own, so it needs no rights. The folders are
named by descriptors: no path has to be escaped, and none can be replaced by a link between the check and the mount. Like
`kernel`, it imports nothing else of metier.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["OverlayError", "mount_overlay"]

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x4000, 0x40000
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class OverlayError(Exception):
    """The workspace cannot be mounted here; the script has not run."""


def mount_overlay(*, folder: str, mask: str, upper: str, work: str, merged: str) -> None:
    """Mounts the three layers at `merged`, an empty folder, in a new mount namespace of this process."""
    try:
        _enter_namespaces()
        # O_NOFOLLOW covers the last part only; the parts above are the user's own path to the folder.
        below, hidden, above, temporary = (os.open(path, _FOLDER) for path in (folder, mask, upper, work))
        options = (
            f"userxattr,lowerdir=/proc/self/fd/{hidden}:/proc/self/fd/{below},"
            f"upperdir=/proc/self/fd/{above},workdir=/proc/self/fd/{temporary}"
        )
        _mount(b"overlay", merged.encode("utf-8", "surrogateescape"), b"overlay", _MS_NOSUID | _MS_NODEV, options.encode())
    except OSError as error:
        raise OverlayError(f"overlay: {error.strerror or error}") from None


def _enter_namespaces() -> None:
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS) != 0:
        raise _last_error()
    for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        descriptor = os.open(f"/proc/self/{file}", os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    _mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None)


def _mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, options: bytes | None) -> None:
    if _libc.mount(source, target, kind, ctypes.c_ulong(flags), options) != 0:
        raise _last_error()


def _last_error() -> OSError:
    error = ctypes.get_errno()
    return OSError(error, os.strerror(error))
