"""The command line of bubblewrap: a new root that holds only the paths named here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from metier.runtime.scripts.packages import PackageMount

from .system import masked, readable, system_links

__all__ = ["CODE", "FIX", "SCRATCH", "arguments", "find", "outermost"]

FIX = "install bubblewrap 0.8 or later (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)"
CODE = "/run/metier"
SCRATCH = "/tmp"  # noqa: S108  the scratch folder of a run in a namespace, in memory
_CANDIDATES = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap")


def find(candidates: Iterable[str] = _CANDIDATES) -> str | None:
    """Returns the first program that only root can change. PATH is not used: another program could pose as the sandbox."""
    return next((path for path in candidates if _is_trusted(path)), None)


def arguments(
    bwrap: str,
    command: Sequence[str],
    *,
    skill: str,
    script: str,
    also_readable: Iterable[str],
    scratch_bytes: int,
    files: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
    packages: PackageMount | None = None,
    workspace: str = "",
    merged: str = "",
    is_writable: bool = False,
) -> list[str]:  # fmt: skip
    r"""Returns the command line. \0filter, \0script, \0info, \0wait and \0file0 stand for descriptors that are opened later.

    `files` are paths of the new root whose contents the request holds; \0file0 is the first of them.
    """
    words = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--hostname", "skill", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
    size = ["--size", str(scratch_bytes)]
    words += ["--perms", "0700", *size, "--tmpfs", "/dev/shm", "--perms", "0700", *size, "--tmpfs", SCRATCH]  # noqa: S108
    base = readable()
    system = system_links(base)
    for path, target in {**system, **(links or {})}.items():
        words += ["--symlink", target, path]
    for path in (path for path in base if path not in system):
        words += ["--ro-bind", path, path]
    # Sorted: a folder is mounted before those inside it, which would otherwise be covered. A skill that is the workspace is
    # mounted as the workspace.
    for path in sorted({*outermost(also_readable), *filter(None, (skill, workspace))}):
        words += ["--bind", merged, path] if path == workspace else ["--ro-bind", path, path]
    if packages and packages.is_node:
        # Node looks for packages in every folder above the script, and this one is never the skill's.
        words += ["--ro-bind", f"{packages.folder}/node_modules", "/node_modules"]
    words += ["--perms", "0555", "--ro-bind-data", "\0script", script]
    for number, path in enumerate(files):
        words += ["--perms", "0444", "--ro-bind-data", f"\0file{number}", path]
    for path in masked():
        words += ["--ro-bind", "/dev/null", path]
    if workspace and not is_writable:
        words += ["--remount-ro", workspace]  # now that the places for the mounts inside it are made
    # Otherwise a script could fill memory through the new root and /dev, and a script of root could write to /proc/sys, where
    # the kernel checks the user id and not a capability.
    words += ["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/", "--chdir", workspace or skill or SCRATCH]
    words += ["--seccomp", "\0filter", "--info-fd", "\0info", "--block-fd", "\0wait"]
    return [*words, "--", *command]


def outermost(paths: Iterable[str], *, known: Sequence[str] = ("/usr",)) -> list[str]:
    """Drops paths below another one, or below a known one, which every run has."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path == above or path.startswith(f"{above}/") for above in (*kept, *known)):
            kept.append(path)
    return kept


def _is_trusted(path: str) -> bool:
    """Returns True for a program that only root can change."""
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
