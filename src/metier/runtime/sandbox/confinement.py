"""The last steps of a process before it becomes the script: signals, limits, and the confinement of its level.

Runs in a child of the supervisor, with one thread. An error is written to a pipe that a successful exec closes, so a run
starts with the confinement of its level, or not at all.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
from typing import Any

__all__ = ["Request", "become", "set_limits"]

# Made by `plan_run` and sent with marshal: strings, bytes, numbers, and lists and dicts of them.
Request = dict[str, Any]

_RESET = ("SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGINT", "SIGTERM", "SIGHUP")


def become(request: Request, stdio: tuple[int, int, int], errors: int, pipes: tuple[int, int]) -> None:
    """Turns this process into the script. It never returns: if it fails, it writes the error to `errors` and exits.

    `pipes` are for bubblewrap: it writes the id of its child to the first, and waits for the second. The supervisor then sets
    the limits of that child.
    """
    errors = fcntl.fcntl(errors, fcntl.F_DUPFD_CLOEXEC, 100)  # out of the way of the descriptors of the script
    try:
        if not request["stdin"]:
            stdio = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), *stdio[1:])
        _reset_process(stdio)
        if request["level"] == "namespace":
            _exec_bubblewrap(request, pipes)
        os.setsid()
        os.chdir(request["start"])
        _give_up_rights(request)
        os.execve(request["argv"][0], request["argv"], request["environment"])  # noqa: S606
    except BaseException as error:  # no exception may leave this function
        os.write(errors, f"{type(error).__name__}: {error}".encode(errors="replace")[:2000])
    finally:
        os._exit(126)


def _exec_bubblewrap(request: Request, pipes: tuple[int, int]) -> None:
    info, wait = pipes
    if request["overlay"]:
        from .overlay import enter_overlay

        enter_overlay(**request["overlay"])
    files = {"filter": _in_memory(request["filter"]), "script": _in_memory(request["script"]), "info": info, "wait": wait}
    files |= {f"file{number}": _in_memory(data) for number, data in enumerate(request["root_files"])}
    # Moved to high numbers first: a target number may be one of the sources.
    sources = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100) for descriptor in files.values()]
    for target, source in enumerate(sources, 3):
        os.dup2(source, target)
    numbers = {name: at for at, name in enumerate(files, 3)}
    argv = [str(numbers[word[1:]]) if word[:1] == "\0" else word for word in request["argv"]]
    os.execve(argv[0], argv, request["environment"])  # noqa: S606


def set_limits(pid: int, request: Request) -> None:
    """Sets the limits of another process, which has not started anything yet."""
    for name, soft, hard in request["rlimits"]:
        number = getattr(resource, name)
        resource.prlimit(pid, number, _within_own(number, soft, hard))


def _reset_process(stdio: tuple[int, int, int]) -> None:
    sources = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100) for descriptor in stdio]
    for target, source in enumerate(sources):
        os.dup2(source, target)
    for name in _RESET:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o077)


def _give_up_rights(request: Request) -> None:
    if sys.platform == "linux" and request["level"] != "off":
        from .kernel import forbid_new_privileges

        forbid_new_privileges()
    for name, soft, hard in request["rlimits"]:
        number = getattr(resource, name)
        resource.setrlimit(number, _within_own(number, soft, hard))
    if request["level"] == "landlock":
        _confine(request)


def _within_own(number: int, soft: int, hard: int) -> tuple[int, int]:
    """Caps a limit at our own hard limit."""
    own = resource.getrlimit(number)[1]
    return (soft, hard) if own == resource.RLIM_INFINITY else (min(soft, own), min(hard, own))


def _confine(request: Request) -> None:
    from .kernel import drop_capabilities, install_filter
    from .landlock import confine

    filters = [request["filter"]]
    if request["guarded"]:
        filters.append(_guard_processes(request["guarded"]))
    drop_capabilities()
    confine(request["readable"], request["writable"], version=request["abi"])
    for program in filters:
        install_filter(program)


def _guard_processes(pids: list[int]) -> bytes:
    """Returns a filter that keeps signals from these processes. It is built here: only the supervisor knows the ids."""
    from .seccomp import assemble, signals_to, this_architecture

    architecture = this_architecture()
    assert architecture is not None  # noqa: S101  checked before the level was offered
    return assemble(signals_to(pids), architecture)


def _in_memory(data: bytes) -> int:
    descriptor = os.memfd_create("metier")
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
