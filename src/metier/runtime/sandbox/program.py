"""A whole program in a namespace: its own root and no network but one Unix socket, which it reaches as a port of loopback.

Scripts of skills run in the supervisor, with limits of memory and processes. A program such as another agent needs
gigabytes of address space and hundreds of threads, so only time, files, system calls and the network are limited here.

It ends with metier: bubblewrap asks the kernel for a signal, and the relay ends when its standard input does, which also holds
if metier was killed before bubblewrap could ask.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from metier.errors import UnavailableError
from metier.values import dataclass, field

from . import bubblewrap, system
from .isolation import IsolationLevel
from .probe import detect_features, probe_level
from .seccomp import FilterOptions, filter_program, this_architecture

__all__ = ["ConfinedProgram", "namespace_problem", "readable_of", "system_call_filter"]

_RELAY = str(Path(__file__).with_name("relay.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinedProgram:
    words: tuple[str, ...]
    home: str
    """The folder that becomes `inner_home`, the only one that it can write to besides /tmp."""
    folder: str
    """Where it starts; a path inside the sandbox."""
    socket: str
    """The Unix socket of the only server that it can reach."""
    port: int
    """The port of loopback, inside, at which it reaches that server."""
    readable: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """More files that it can read: the path inside, and the file that is shown there."""
    inner_home: str = "/home/user"

    def command(self, *, filter_descriptor: int | None) -> list[str]:
        """Returns the command line that starts it. The caller gives it an empty environment.

        `filter_descriptor` is open on what `system_call_filter` returns. Standard input is a pipe that the caller holds open
        as long as the program may run.
        """
        bwrap = bubblewrap.find()
        if bwrap is None:
            raise UnavailableError("there is no bubblewrap on this machine", hint=bubblewrap.FIX)
        python = os.path.realpath(sys.executable)
        words = [bwrap, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
        words += ["--uid", "1000", "--gid", "1000", "--hostname", "eval", "--cap-drop", "ALL"]
        words += ["--seccomp", str(filter_descriptor)] if filter_descriptor is not None else []
        words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108  the sandbox's own
        base = system.readable()
        links = system.system_links(base)
        for path, target in links.items():
            words += ["--symlink", target, path]
        wanted = (*self.readable, os.path.realpath(sys.base_prefix), python, _RELAY)
        for path in (*(path for path in base if path not in links), *bubblewrap.outermost(wanted)):
            words += ["--ro-bind", path, path]
        for path, shown in self.files.items():
            words += ["--ro-bind", shown, path]
        for path in system.masked():
            words += ["--ro-bind", "/dev/null", path]
        words += ["--bind", self.home, self.inner_home, "--bind", self.socket, "/run/model", "--remount-ro", "/"]
        for name, value in self.environment.items():
            words += ["--setenv", name, value]
        words += ["--chdir", self.folder, "--", python, "-I", "-S", _RELAY, str(self.port), "/run/model"]
        return [*words, *self.words]


def system_call_filter() -> bytes:
    """Returns the filter of a confined program; empty if there is none for this processor."""
    architecture = this_architecture()
    return filter_program(FilterOptions(internet=True, unix=True), architecture) if architecture else b""


def namespace_problem() -> str:
    """Returns why this machine has no namespaces for a program; empty if it has them."""
    result = probe_level(detect_features(), IsolationLevel.NAMESPACE)
    return "" if result.works else result.reason or "namespaces do not work"


def readable_of(program: str, *, also: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the files that a program needs to start: itself, and the packages that it is installed in."""
    real = os.path.realpath(program)
    found = [real, *also]
    before, folder, _ = real.partition("/node_modules/")
    if folder:
        found.append(f"{before}/node_modules")
    return tuple(path for path in found if os.path.exists(path))
