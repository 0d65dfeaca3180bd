"""The last steps of a process before it becomes the script: signals, limits, and the confinement of its level.

Runs in a new child of the supervisor, with one thread. An error is written to a pipe that a successful exec closes, so a run
starts with the confinement of its level, or not at all.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
from typing import Any

__all__ = ["Request", "become", "set_limits", "spawn_bubblewrap"]

# Made by `plan_run` and sent with marshal: strings, bytes, numbers, and lists and dicts of them.
Request = dict[str, Any]

_RESET = ("SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP")


def become(request: Request, stdio: tuple[int, int, int], errors: int) -> None:
    """Turns this process into the script. It never returns: if it fails, it writes the error to `errors` and exits."""
    try:
        _prepare_process(request, stdio)
        if request["level"] == "landlock":
            _confine(request)
        os.execve(request["argv"][0], request["argv"], request["environment"])  # noqa: S606
    except BaseException as error:  # no exception may leave this function
        os.write(errors, f"{type(error).__name__}: {error}".encode(errors="replace")[:2000])
    finally:
        os._exit(126)


def spawn_bubblewrap(request: Request, stdio: tuple[int, int, int], pipes: tuple[int, int]) -> int:
    """Returns the process of bubblewrap. It does the work of `become`, except for the limits, which the supervisor sets.

    `pipes`: bubblewrap writes the id of its child to the first, and waits for the second. No Python runs in between, so this
    needs no fork.
    """
    info, wait = pipes
    files = {"filter": _in_memory(request["filter"]), "script": _in_memory(request["script"]), "info": info, "wait": wait}
    numbers = {name: at for at, name in enumerate(files, 3)}
    argv = [str(numbers[word[1:]]) if word[:1] == "\0" else word for word in request["argv"]]
    # Moved to high numbers first: a target number may be one of the sources.
    sources = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100) for descriptor in (*stdio, *files.values())]
    os.umask(0o077)
    try:
        return os.posix_spawn(
            argv[0], argv, request["environment"], setsigmask=(),
            file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(sources)],
            setsigdef=[getattr(signal, name) for name in _RESET],
        )  # fmt: skip
    finally:
        for descriptor in (*sources, files["filter"], files["script"]):
            os.close(descriptor)


def set_limits(pid: int, request: Request) -> None:
    """Sets the limits of another process, which has not started anything yet."""
    for name, soft, hard in request["rlimits"]:
        number = getattr(resource, name)
        resource.prlimit(pid, number, _within_own(number, soft, hard))


def _prepare_process(request: Request, stdio: tuple[int, int, int]) -> None:
    os.setsid()
    for target, descriptor in enumerate(stdio):
        os.dup2(descriptor, target)
    for name in _RESET:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o077)
    os.chdir(request["folder"])
    if sys.platform == "linux":
        from .kernel import die_with, forbid_new_privileges

        die_with(request["supervisor"])
        if request["level"] != "off":
            forbid_new_privileges()
    for name, soft, hard in request["rlimits"]:
        number = getattr(resource, name)
        resource.setrlimit(number, _within_own(number, soft, hard))


def _within_own(number: int, soft: int, hard: int) -> tuple[int, int]:
    """Caps a limit at our own hard limit."""
    own = resource.getrlimit(number)[1]
    return (soft, hard) if own == resource.RLIM_INFINITY else (min(soft, own), min(hard, own))


def _confine(request: Request) -> None:
    from .kernel import drop_capabilities, install_filter
    from .landlock import confine

    drop_capabilities()
    confine(request["readable"], request["writable"], version=request["abi"], network=request["network"])
    install_filter(request["filter"])


def _in_memory(data: bytes) -> int:
    descriptor = os.memfd_create("metier")
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
