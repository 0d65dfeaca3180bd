"""The last steps of a process before it becomes the script, and what each level does in them.

Runs in a fresh child of the supervisor: one thread, nothing shared. Whatever fails here is told on a pipe that a
successful exec closes, so a run either starts as confined as its level says, or not at all.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
from typing import Any

__all__ = ["Request", "become", "limit", "spawn_bubblewrap"]

# A request as `plan` wrote it and marshal carried it: strings, bytes, numbers, lists and dicts of them.
Request = dict[str, Any]

_RESET = ("SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP")


def become(request: Request, stdio: tuple[int, int, int], complain: int) -> None:
    """Never returns: the process is the script afterwards, or it has complained and ended."""
    try:
        _settle(request, stdio)
        if request["level"] == "landlock":
            _confine(request)
        os.execve(request["argv"][0], request["argv"], request["environment"])  # noqa: S606
    except BaseException as error:  # nothing may get past this point
        os.write(complain, f"{type(error).__name__}: {error}".encode(errors="replace")[:2000])
    finally:
        os._exit(126)


def spawn_bubblewrap(request: Request, stdio: tuple[int, int, int], pipes: tuple[int, int]) -> int:
    """Its process. It does all that `become` does by itself, but for the limits, which the supervisor sets from outside.

    `pipes`: where it tells its child, and where it waits for us. No Python runs in between, so this costs no fork of ours.
    """
    tell, wait = pipes
    files = {"filter": _in_memory(request["filter"]), "script": _in_memory(request["script"]), "tell": tell, "wait": wait}
    numbers = {name: at for at, name in enumerate(files, 3)}
    argv = [str(numbers[word[1:]]) if word[:1] == "\0" else word for word in request["argv"]]
    # Out of the way first: a number that is to be filled may be one that is still to be read.
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


def limit(pid: int, request: Request) -> None:
    """The limits of another process, which has not started anything yet."""
    for name, soft, hard in request["rlimits"]:
        number = getattr(resource, name)
        resource.prlimit(pid, number, _within(number, soft, hard))


def _settle(request: Request, stdio: tuple[int, int, int]) -> None:
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
        resource.setrlimit(number, _within(number, soft, hard))


def _within(number: int, soft: int, hard: int) -> tuple[int, int]:
    """Never above what we have ourselves."""
    most = resource.getrlimit(number)[1]
    return (soft, hard) if most == resource.RLIM_INFINITY else (min(soft, most), min(hard, most))


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
