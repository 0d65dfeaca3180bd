"""The process that becomes the script. It is forked before the request arrives, and waits for it in its cgroup.

A move into a cgroup takes up to 15 ms and a fork one, so both happen while no run waits for them.
"""

from __future__ import annotations

import json
import marshal
import os
import secrets
import sys
import time

from metier.runtime.readable import wait_readable

from . import process_tree as tree
from .cgroup import CgroupParent, Leaf
from .confinement import Request, become, set_limits
from .messages import read_pipe, write_pipe

__all__ = ["StartError", "Starter"]

_SETUP_SECONDS = 10.0


class StartError(Exception):
    """The sandbox could not be set up; the script has not run."""


class Starter:
    """One such process, and our ends of its pipes."""

    def __init__(self, parent: CgroupParent | None) -> None:
        self.leaf = _make_leaf(parent)
        self.listeners: list[int] = []
        """Sockets inside the namespace, for the proxy."""
        stdin, self.stdin = os.pipe()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self._failed, failed = os.pipe()
        self._ready, ready = os.pipe()
        self._info, info = os.pipe()
        request, self._request = os.pipe()
        wait, self._release = os.pipe()
        supervisor = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for ours in (self.stdin, self._request, self._release):
                    os.close(ours)
                self._become_script(supervisor, ready, request, ((stdin, out, err), failed, (info, wait)))
            finally:
                os._exit(126)
        for theirs in (stdin, out, err, failed, ready, info, request, wait):
            os.close(theirs)

    def start(self, request: Request) -> int:
        """Lets it become the script. Returns the descriptor of the scratch folder of a namespace, or -1."""
        if os.read(self._ready, 1) != b"+" and self.leaf:
            self.leaf.remove()  # the move failed: the run goes on without a cgroup, and its report says so
            self.leaf = None
        if self.leaf and request["watched"]:
            limits = request["limits"]
            self.leaf.set_limits(memory=int(limits["memory_bytes"]), tasks=int(limits["processes"]) + request["helpers"])
        if request["stdin"] is None:
            os.close(self.stdin)
            self.stdin = -1
        try:
            script = request["script"] if request["level"] == "namespace" else b""
            write_pipe(self._request, marshal.dumps({**request, "stdin": request["stdin"] is not None, "script": script}))
            if text := read_pipe(self._failed):
                raise StartError(text.decode(errors="replace"))
            return self._release_namespace(request) if request["level"] == "namespace" else -1
        except OSError as error:
            raise StartError(str(error)) from None
        except StartError as error:
            self._kill()
            said = self.last_words()
            raise StartError(f"{error}: {said}" if said else str(error)) from None
        finally:
            for descriptor in (self._failed, self._ready, self._info, self._release):
                os.close(descriptor)

    def discard(self) -> None:
        """Ends a process that no run will need, and removes its cgroup."""
        self._kill()
        if self.leaf:
            self.leaf.remove()
        for descriptor in (self.stdin, self.out, self.err, self._failed, self._ready, self._info, self._request, self._release):
            os.close(descriptor)

    def _become_script(
        self, supervisor: int, ready: int, request: int, pipes: tuple[tuple[int, int, int], int, tuple[int, int]]
    ) -> None:
        if sys.platform == "linux":
            from .kernel import die_with

            die_with(supervisor)
        try:
            if self.leaf:
                self.leaf.enter()
            os.write(ready, b"+")
        except OSError:
            os.write(ready, b"-")
        if data := read_pipe(request):
            become(marshal.loads(data), *pipes)  # noqa: S302  from the supervisor, over a private pipe

    def _release_namespace(self, request: Request) -> int:
        """Waits until bubblewrap has built the namespace, opens the scratch folder, sets the limits, and lets it continue."""
        deadline = time.monotonic() + _SETUP_SECONDS
        inside = self._child_of_bubblewrap(deadline)
        scratch = self._scratch_of(inside, deadline)
        # Only now: processes are counted inside the new user namespace, without the other processes of the user.
        set_limits(inside, request)
        if request["ports"]:
            from .network_namespace import open_listeners

            self.listeners = open_listeners(inside, request["ports"], takes_all=request["takes_all"])
        os.write(self._release, b"!")
        return scratch

    def _child_of_bubblewrap(self, deadline: float) -> int:
        text = b""
        while b"}" not in text:
            part = os.read(self._info, 4096) if wait_readable([self._info], deadline - time.monotonic()) else b""
            if not part:
                raise StartError("bubblewrap ended before it built the namespace")
            text += part
        return int(json.loads(text)["child-pid"])

    def _scratch_of(self, inside: int, deadline: float) -> int:
        ours = os.stat("/")
        while time.monotonic() < deadline and not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            try:
                root = os.stat(f"/proc/{inside}/root/")
                if (root.st_dev, root.st_ino) != (ours.st_dev, ours.st_ino):
                    # This folder is missing until bubblewrap has built the whole root.
                    return os.open(f"/proc/{inside}/root/tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                pass
            time.sleep(0.0002)
        raise StartError("bubblewrap ended before it was ready")

    def _kill(self) -> None:
        try:
            os.kill(self.pid, 9)
        except ProcessLookupError:
            pass
        tree.end(self.pid, tree.ExitState())

    def last_words(self) -> str:
        """Returns what is on its stderr, without waiting."""
        os.set_blocking(self.err, False)
        try:
            return os.read(self.err, 2000).decode(errors="replace").strip()
        except BlockingIOError:
            return ""


def _make_leaf(parent: CgroupParent | None) -> Leaf | None:
    try:
        return Leaf(parent, secrets.token_hex(8)) if parent else None
    except OSError:
        return None
