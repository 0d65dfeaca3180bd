"""The command line of bubblewrap: a root of its own, made of nothing but what is named here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

from .system import readable, system_links

__all__ = ["FIX", "INSIDE", "arguments", "find"]

FIX = "install bubblewrap 0.8 or later (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)"
INSIDE = "/tmp"  # noqa: S108  the scratch folder of a run in a namespace; on no disk
_CANDIDATES = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")


def find(candidates: Iterable[str] = _CANDIDATES) -> str | None:
    """Never from PATH: whoever can put a file into a folder of it could stand in for the sandbox."""
    return next((path for path in candidates if _is_vetted(path)), None)


def arguments(
    bwrap: str, command: Sequence[str], *, skill: str, script: str, also_readable: Iterable[str], network: bool, room: int
) -> list[str]:
    r"""A word that starts with NUL stands for a descriptor that exists only later: \0filter, \0script, \0tell, \0wait."""
    words = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--share-net"] if network else []
    words += ["--hostname", "skill", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
    size = ["--size", str(room)]
    words += ["--perms", "0700", *size, "--tmpfs", "/dev/shm", "--perms", "0700", *size, "--tmpfs", INSIDE]  # noqa: S108
    base = readable(network=network)
    links = system_links(base)
    for path, target in links.items():
        words += ["--symlink", target, path]
    for path in (*(path for path in base if path not in links), *_outermost(also_readable), skill):
        words += ["--ro-bind", path, path]
    words += ["--perms", "0555", "--ro-bind-data", "\0script", script]
    # Without these the new root and /dev would be memory that can be filled without a limit, and a script that root runs could
    # write to /proc/sys: the kernel asks there for root's number, not for a capability.
    words += ["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/", "--chdir", skill]
    words += ["--seccomp", "\0filter", "--info-fd", "\0tell", "--block-fd", "\0wait"]
    return [*words, "--", *command]


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without what lies below another one, or below what every run has."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path == above or path.startswith(f"{above}/") for above in (*kept, "/usr")):
            kept.append(path)
    return kept


def _is_vetted(path: str) -> bool:
    """A program of root's, in folders that only root can change."""
    try:
        real = os.path.realpath(path)
        if not stat.S_ISREG(os.stat(real).st_mode) or not os.access(real, os.X_OK):
            return False
        while True:
            status = os.stat(real)
            if status.st_uid != 0 or status.st_mode & 0o022:
                return False
            if real == "/":
                return True
            real = os.path.dirname(real)
    except OSError:
        return False
