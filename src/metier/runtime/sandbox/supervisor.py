"""Supervises one run from its start to the end of its last process, in a process of its own.

The caller's process may be killed, may have threads, or may be busy. The supervisor has a single thread. It enforces the
timeout, reads the output, measures usage, and ends only after all processes of the run have ended.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import process_tree as tree
from . import scratch
from .confinement import Request
from .folder_lock import lock_use, make_locked
from .messages import read_message, send_listeners, write_message
from .starter import Starter, StartError
from .usage import UsageWatch

if TYPE_CHECKING:
    from metier.runtime.containers.attachment import Attachment

__all__ = ["read_request", "supervise"]

_READ = 1 << 16
_FLOOD = 16
"""A script that writes this many times the limit is stopped: its output is discarded anyway."""
_TICK, _LAST_TICK = 0.01, 0.05
_PAUSE = 4
"""A check is followed by a pause of at least this many times its duration: measuring must not become the load."""


class CapturedOutput:
    """Stdout and stderr with one limit for both. Records which of them was truncated."""

    def __init__(self, limit: int, log: str = "") -> None:
        self.log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC) if log else -1
        self.left = limit
        self.flood = limit * _FLOOD
        self.parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self.truncated = {"stdout": False, "stderr": False}

    def take(self, stream: str, data: bytes) -> None:
        kept = data[: self.left]
        self.left -= len(kept)
        self.flood -= len(data) - len(kept)
        if kept:
            self.parts[stream].append(kept)
            if self.log >= 0:
                os.write(self.log, kept)
        if len(kept) < len(data):
            self.truncated[stream] = True


class SupervisedRun:
    """The state of one run. `stop_reason` is empty if it ended by itself."""

    def __init__(self, connection: socket.socket, request: Request, caller: int, starter: Starter) -> None:
        self.connection = connection
        self.request = request
        self.caller = caller
        self.starter = starter
        self.main = starter.pid
        self.limits: dict[str, float] = request["limits"]
        self.output = CapturedOutput(int(self.limits["output_bytes"]), request["log"])
        self.poll = select.poll()
        self.streams: dict[int, str] = {}
        self.stdin = -1
        self.to_write = memoryview(request["stdin"] or b"")
        self.ended = tree.ExitState()
        self.scratch = -1
        """A descriptor of the folder."""
        self.container = _attachment(request)
        self.stop_reason = ""
        self.wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(self.wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)

    def run(self, started: Callable[[], None]) -> dict[str, object]:
        base = self.request["base"]
        lock = make_locked(base) if base else -1
        use = lock_use(self.request["layer"]) if self.request["layer"] else -1
        try:
            if self.request["overlay"]:
                for name in ("work", "merged"):
                    os.makedirs(self.request["overlay"][name], 0o700, exist_ok=True)
            if base:
                self._make_folders(base)
            since = self._start()
            started()
            self._watch(since + self.limits["seconds"])
            self._end()
            seconds = time.monotonic() - since
            self._drain()
            files, refused = scratch.collect(self.scratch, self.request["outputs"], int(self.limits["scratch_bytes"]))
            return self._report(seconds, files, refused)
        finally:
            self._end()
            if self.starter.leaf:
                self.starter.leaf.remove()
            if base:
                scratch.remove(base)
                os.close(lock)
            if use >= 0:
                os.close(use)

    def _make_folders(self, base: str) -> None:
        os.mkdir(f"{base}/scratch", 0o700)
        self.scratch = os.open(f"{base}/scratch", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self.container:
            self.container.make_files(base, self.request["script"], self.request["root_files"])
            return
        scratch.mirror(self.request["folder"], self.request["script_path"], self.request["script"], f"{base}/skill")
        if self.request["node_modules"]:
            # Node looks for packages in every folder above the script.
            os.symlink(self.request["node_modules"], f"{base}/node_modules")

    def _start(self) -> float:
        inside = self.starter.start(self.request)
        if self.starter.listeners:
            send_listeners(self.connection, self.starter.listeners)
        if self.container and self._attach(self.container):
            inside = self.container.scratch
        self.scratch = inside if inside >= 0 else self.scratch
        self.streams = {self.starter.out: "stdout", self.starter.err: "stderr"}
        self.stdin = self.starter.stdin
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)
            self.poll.register(descriptor, select.POLLIN)
        if self.stdin >= 0:
            os.set_blocking(self.stdin, False)
            self.poll.register(self.stdin, select.POLLOUT)
        self.poll.register(self.connection.fileno(), select.POLLIN)
        self.poll.register(self.wake, select.POLLIN)
        if self.caller >= 0:
            self.poll.register(self.caller, select.POLLIN)
        return time.monotonic()

    def _attach(self, container: Attachment) -> bool:
        """Waits until the container is ready and starts the script in it. Returns False if the caller cancels."""
        cancel = [each for each in (self.connection.fileno(), self.caller) if each >= 0]
        try:
            if not container.wait_until_ready(self.starter.out, cancel):
                self.stop_reason = "cancel"
                return False
            self.starter.last_words()  # warnings of the client
            if self.request["ports"]:
                self._listen(container)
            container.start(self.starter.stdin)
        except StartError as error:
            said = self.starter.last_words()
            raise StartError(f"{error}: {said}" if said else str(error)) from None
        return True

    def _listen(self, container: Attachment) -> None:
        from .network_namespace import open_listeners

        try:
            self.starter.listeners = open_listeners(container.pid, self.request["ports"])
        except OSError as error:
            raise StartError(str(error)) from None
        send_listeners(self.connection, self.starter.listeners)

    def _watch(self, deadline: float) -> None:
        """Serves the pipes until the script ends or is stopped. The limits are checked by the clock: output cannot delay it."""
        usage = None
        if self.container:
            usage = UsageWatch(self.request, self.scratch, self.container.cgroup, self.container.pid)
        elif self.request["watched"]:
            usage = UsageWatch(self.request, self.scratch, self.starter.leaf)
        tick = _TICK
        now = time.monotonic()
        next_check = now + tick
        while self.ended.status is None and not self.stop_reason:
            if now >= deadline:
                self.stop_reason = "time"
                return
            if now >= next_check:
                self.stop_reason = usage.exceeded_limit() if usage else ""
                self.ended = tree.reap(self.main, self.ended)
                took = time.monotonic() - now
                tick = min(tick * 1.3, _LAST_TICK)
                next_check = now + took + max(tick, _PAUSE * took)
            else:
                for descriptor, _ in self.poll.poll((min(deadline, next_check) - now) * 1000 + 0.5):
                    self._serve(descriptor)
            now = time.monotonic()

    def _end(self) -> None:
        if self.starter.leaf and not self.ended.all_ended:
            self.starter.leaf.stop()
        if self.container and not self.ended.all_ended:
            self._remove(self.container)
        self.ended = tree.end(self.main, self.ended)
        if self.starter.leaf and not self.stop_reason and self.starter.leaf.memory_exceeded():
            self.stop_reason = "memory"

    def _remove(self, container: Attachment) -> None:
        """Removes a container that has not ended by itself. The engine removes the others."""
        self.ended = tree.reap(self.main, self.ended)
        if self.ended.status is not None and not self.stop_reason:
            return
        # The client first: while it waits for us to read, the engine waits for it.
        tree.kill([self.main] if self.ended.status is None else [])
        removed = container.remove()
        self.ended = tree.end(self.main, self.ended)
        if not (removed and container.is_ready):
            container.remove()  # the engine was still creating it, or could not end it

    def _serve(self, descriptor: int) -> None:
        if descriptor in self.streams:
            self._read(descriptor)
        elif descriptor == self.stdin:
            self._write()
        elif descriptor == self.wake:
            os.read(self.wake, 4096)
            self.ended = tree.reap(self.main, self.ended)
        else:
            # The caller has closed the connection, or has ended.
            self.stop_reason = "cancel"

    def _read(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return False
        if not data:
            self.poll.unregister(descriptor)
            os.close(descriptor)
            del self.streams[descriptor]
            return False
        self.output.take(self.streams[descriptor], data)
        if self.output.flood < 0:
            self.stop_reason = self.stop_reason or "output"
        return True

    def _write(self) -> None:
        try:
            self.to_write = self.to_write[os.write(self.stdin, self.to_write[:_READ]) :] if self.to_write else self.to_write
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.to_write = memoryview(b"")
        if not self.to_write:
            self.poll.unregister(self.stdin)
            os.close(self.stdin)
            self.stdin = -1

    def _drain(self) -> None:
        for descriptor in list(self.streams):
            while self._read(descriptor):
                pass

    def _report(self, seconds: float, files: object, refused: object) -> dict[str, object]:
        code = os.waitstatus_to_exitcode(self.ended.status) if self.ended.status is not None else None
        return {
            "exit_code": None if self.stop_reason or code is None else 128 - code if code < 0 else code,
            "stop_reason": self.stop_reason,
            "stdout": b"".join(self.output.parts["stdout"]),
            "stderr": b"".join(self.output.parts["stderr"]),
            "stdout_truncated": self.output.truncated["stdout"],
            "stderr_truncated": self.output.truncated["stderr"],
            "seconds": seconds,
            "peak": 0 if self.container else self.ended.peak,  # of a container it would be the client's
            "files": files,
            "refused": refused,
            "cgroup": (self.container.cgroup if self.container else self.starter.leaf) is not None and self.request["watched"],
        }


def _attachment(request: Request) -> Attachment | None:
    if not request.get("container"):
        return None
    from metier.runtime.containers.attachment import Attachment  # few processes run containers

    return Attachment(request["container"])


def read_request(connection: socket.socket) -> Request:
    request: Request = marshal.loads(read_message(connection))  # noqa: S302  from our own process, over a private socket
    return request


def supervise(connection: socket.socket, caller: int, request: Request, starter: Starter, started: Callable[[], None]) -> None:
    """Does one run and sends the report. `caller` is a pidfd or -1. `started` is called once the script runs."""
    request["guarded"] = [os.getpid(), os.getppid()] if request["guarded"] else []
    report: dict[str, object]
    try:
        report = SupervisedRun(connection, request, caller, starter).run(started)
    except (StartError, OSError) as error:
        report = {"cannot_start": str(error)}
    if request["ports"] and not starter.listeners:
        send_listeners(connection, [])
    started()
    try:
        write_message(connection, marshal.dumps(report))
    except OSError:
        pass  # the caller has ended
