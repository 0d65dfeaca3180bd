"""The small process that starts scripts: it forks a supervisor for each run.

The caller's process is not suited to that. It may have threads, and code between fork and exec may then hang. It may be large,
and a fork is then slow. It may be killed, and its runs must still be ended. Starting Python for each run would cost 20 ms, so
this process stays, and forks. One supervisor is always forked in advance and waits for the next run.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from .cgroup import find_parent, remove_abandoned
from .pool import Pool

__all__ = ["main"]


def main(descriptor: int, caller: int) -> None:
    """Serves until the caller closes the connection or ends, and then until the last run has ended."""
    os.setsid()
    os.set_inheritable(descriptor, False)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    caller_pidfd = _watch(caller)
    parent = None
    if sys.platform == "linux":
        # Imported before the first fork, so that no run pays for it.
        from . import kernel, landlock, network_namespace, overlay  # noqa: F401

        if 0 < landlock.abi() < 6:  # as in isolation.SCOPED_SIGNALS, which takes too long to import here
            from . import seccomp  # noqa: F401
        kernel.adopt_orphans()
        parent = find_parent()
        if parent:
            remove_abandoned(parent)
    gc.collect()
    gc.freeze()
    gc.disable()
    wake, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    if "XDG_RUNTIME_DIR" in os.environ:
        os.write(descriptor, b"+")  # systemd has started us; the caller waits for that
    Pool(descriptor, caller_pidfd, parent).serve(wake)


def _watch(caller: int) -> int:
    """Returns a pidfd that is readable once the caller ends, even if a fork of it still holds our socket; -1 without pidfd."""
    if sys.platform != "linux":
        return -1
    try:
        caller_pidfd = os.pidfd_open(caller)
    except OSError:
        return -1
    if os.getppid() != caller:
        sys.exit(0)
    return caller_pidfd
