"""A systemd scope for the spawner, so that an ordinary user whose session has no cgroup of its own gets one for runs.

Processes of a desktop are below the user's service manager, where cgroups can be made. Those of an ssh session are not, and
only that manager can move them there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from metier.values import dataclass

__all__ = ["SystemdPaths", "scope_words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemdPaths:
    """Where systemd and the kernel have what is looked for."""

    program: str = "/usr/bin/systemd-run"
    controllers: str = "/sys/fs/cgroup/cgroup.controllers"
    own: str = "/proc/self/cgroup"


def scope_words(environment: Mapping[str, str], *, user: int, paths: SystemdPaths | None = None) -> list[str]:
    """Returns words that run the command after them in a scope of its own; none where that is not needed or not possible."""
    paths = paths or SystemdPaths()
    manager = os.path.join(environment.get("XDG_RUNTIME_DIR", ""), "systemd/private")
    needed = (paths.program, paths.controllers, paths.own, manager)
    if user == 0 or not manager.startswith("/") or not all(map(os.path.exists, needed)):
        return []
    with open(paths.own, encoding="utf-8", errors="surrogateescape") as lines:
        if f"/user@{user}.service/" in lines.read():
            return []
    options = ["--user", "--scope", "--quiet", "--collect", "--property=Delegate=memory pids"]
    return [paths.program, *options, "--"]
