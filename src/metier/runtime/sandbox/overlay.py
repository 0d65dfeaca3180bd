"""Mounts a workspace: the user's folder below, whiteouts of hidden files above it, and a layer for writes on top.

Runs in the process that becomes bubblewrap, or the client of a container engine, in a mount namespace of its own. For
bubblewrap it also makes a user namespace, so it needs no rights. The folders are named by descriptors: no path has to be
escaped, and none can be replaced by a link between the check and the mount.

Runs at the same time share one mount: the kernel promises nothing about one layer that is mounted twice. The first run mounts
it; the others join its namespace, which lives as long as one of them. Like `kernel`, this module imports nothing else of
metier: `python -I overlay.py LAYERS PROGRAM…` is how a container engine gets it.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import sys

__all__ = ["OverlayError", "enter_overlay"]

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x4000, 0x40000
_NS_GET_USERNS = 0xB701
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class OverlayError(Exception):
    """The workspace cannot be mounted here; the script has not run."""


def enter_overlay(
    *, folder: str, mask: str, upper: str, work: str, merged: str, users: str, new_user: bool = True
) -> None:  # fmt: skip
    """Brings this process into a mount namespace in which the three layers are mounted at `merged`.

    `users` is a file with the processes that are in it. `merged` and `work` are empty folders of the layer.
    """
    try:
        with open(os.open(users, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = [line for line in file.read().splitlines() if _is_alive(line)]
            if not any(_join(line.split()[0], merged) for line in known):
                known = []
                _enter_namespaces(new_user=new_user)
                # O_NOFOLLOW covers the last part only; the parts above are the user's own path to the folder.
                below, hidden, above, temporary = (os.open(path, _FOLDER) for path in (folder, mask, upper, work))
                options = (
                    f"userxattr,lowerdir=/proc/self/fd/{hidden}:/proc/self/fd/{below},"
                    f"upperdir=/proc/self/fd/{above},workdir=/proc/self/fd/{temporary}"
                )
                target = merged.encode("utf-8", "surrogateescape")
                _mount(b"overlay", target, b"overlay", _MS_NOSUID | _MS_NODEV, options.encode())
            file.seek(0)
            file.truncate()
            file.write("\n".join([*known, f"{os.getpid()} {_namespace('self')}"]))
    except OSError as error:
        raise OverlayError(f"overlay: {error.strerror or error}") from None


def _is_alive(line: str) -> bool:
    """Returns True if the process is still in the namespace that it was in. Its id may belong to another one now."""
    pid, _, namespace = line.partition(" ")
    try:
        return _namespace(pid) == int(namespace)
    except (OSError, ValueError):
        return False


def _namespace(pid: str) -> int:
    return os.stat(f"/proc/{pid}/ns/mnt").st_ino


def _join(pid: str, merged: str) -> bool:
    """Joins the namespace of a process. Returns False if it has just ended."""
    try:
        namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    owner = fcntl.ioctl(namespace, _NS_GET_USERNS)
    here = os.getcwd()
    if os.fstat(owner).st_ino != os.stat("/proc/self/ns/user").st_ino and _libc.setns(owner, _CLONE_NEWUSER) != 0:
        raise _last_error()
    if _libc.setns(namespace, _CLONE_NEWNS) != 0:
        raise _last_error()
    os.chdir(here)
    if os.stat(merged).st_dev == os.stat(os.path.dirname(merged)).st_dev:
        raise OSError(f"{merged} is not mounted")
    return True


def _enter_namespaces(*, new_user: bool) -> None:
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWNS | (_CLONE_NEWUSER if new_user else 0)) != 0:
        raise _last_error()
    maps = (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1"))
    for file, text in maps if new_user else ():
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


if __name__ == "__main__":
    try:
        enter_overlay(**json.loads(sys.argv[1]), new_user=False)
        os.execve(sys.argv[2], sys.argv[2:], os.environ)  # noqa: S606  the engine's client, with its whole environment
    except (OverlayError, OSError) as failed:
        sys.exit(f"OverlayError: {failed}")
