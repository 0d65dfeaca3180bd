"""Supervises one run from its start to the end of its last process, in a process of its own.

The caller's process may be killed, may have threads, or may be busy. The supervisor has a single thread. It enforces the
timeout, reads the output, measures usage, and ends only after all processes of the run have ended.
"""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

from . import process_tree as tree
from . import scratch
from .confinement import Request, become, set_limits, spawn_bubblewrap

__all__ = ["read_message", "supervise", "write_message"]

_READ = 1 << 16
_FLOOD = 16
"""A script that writes this many times the limit is stopped: its output is discarded anyway."""
_TICK, _LAST_TICK = 0.01, 0.05
_SETUP_SECONDS = 10.0


class StartError(Exception):
    """The sandbox could not be set up; the script has not run."""


class CapturedOutput:
    """Stdout and stderr with one limit for both. Records which of them was truncated."""

    def __init__(self, limit: int) -> None:
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
        if len(kept) < len(data):
            self.truncated[stream] = True


class SupervisedRun:
    """The state of one run. `stop_reason` is empty if it ended by itself."""

    def __init__(self, connection: socket.socket, request: Request, caller: int) -> None:
        self.connection = connection
        self.request = request
        self.caller = caller
        self.limits: dict[str, float] = request["limits"]
        self.output = CapturedOutput(int(self.limits["output_bytes"]))
        self.poll = select.poll()
        self.streams: dict[int, str] = {}
        self.stdin = -1
        self.to_write = memoryview(request["stdin"] or b"")
        self.main = 0
        self.ended = tree.ExitState()
        self.scratch = -1
        """A descriptor of the folder."""
        self.stop_reason = ""
        self.ticks = 0
        self.wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(self.wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)

    def run(self, started: Callable[[], None]) -> dict[str, object]:
        base = self.request["base"]
        if base:
            scratch.make(base)
        try:
            if base:
                self._make_folders(base)
            since = self._start()
            started()
            self._watch(since + self.limits["seconds"])
            self.ended = tree.end(self.main, self.ended)
            seconds = time.monotonic() - since
            self._drain()
            files, refused = scratch.collect(self.scratch, self.request["outputs"], int(self.limits["scratch_bytes"]))
            return self._report(seconds, files, refused)
        finally:
            if self.main:
                tree.end(self.main, self.ended)
            if base:
                scratch.remove(base)

    def _make_folders(self, base: str) -> None:
        os.mkdir(f"{base}/scratch", 0o700)
        self.scratch = os.open(f"{base}/scratch", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        scratch.mirror(self.request["folder"], self.request["script_path"], self.request["script"], f"{base}/skill")

    def _start(self) -> float:
        out, out_write = os.pipe()
        err, err_write = os.pipe()
        failed, failed_write = os.pipe()
        if self.request["stdin"] is None:
            stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        else:
            stdin, self.stdin = os.pipe()
        stdio = (stdin, out_write, err_write)
        self.request["supervisor"] = os.getpid()
        try:
            if self.request["level"] == "namespace":
                self._start_in_namespace(stdio)
            else:
                self.main = os.fork()
                if self.main == 0:
                    become(self.request, stdio, failed_write)
        except StartError as error:
            tree.end(self.main, self.ended)
            os.set_blocking(err_write, False)
            os.write(err_write, b" ")
            raise StartError(f"{error}: {os.read(err, 2000).decode(errors='replace').strip()}".rstrip(": ")) from None
        finally:
            for descriptor in (*stdio, failed_write):
                os.close(descriptor)
        error_text = os.read(failed, 4096)
        os.close(failed)
        if error_text:
            raise StartError(error_text.decode(errors="replace"))
        self.streams = {out: "stdout", err: "stderr"}
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

    def _start_in_namespace(self, stdio: tuple[int, int, int]) -> None:
        """Waits until bubblewrap has built the namespace, opens the scratch folder, sets the limits, and lets it continue."""
        info, info_write = os.pipe()
        wait, release = os.pipe()
        try:
            self.main = spawn_bubblewrap(self.request, stdio, (info_write, wait))
            os.close(info_write)
            os.close(wait)
            deadline = time.monotonic() + _SETUP_SECONDS
            inside = self._child_of_bubblewrap(info, deadline)
            self.scratch = self._scratch_of(inside, deadline)
            # Only now: processes are counted inside the new user namespace, without the other processes of the user.
            set_limits(inside, self.request)
            os.write(release, b"!")
        except OSError as error:
            raise StartError(f"bubblewrap: {error}") from None
        finally:
            os.close(info)
            os.close(release)

    def _child_of_bubblewrap(self, info: int, deadline: float) -> int:
        text = b""
        while b"}" not in text:
            ready, _, _ = select.select([info], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(info, 4096) if ready else b""
            if not part:
                raise StartError("bubblewrap ended before it built the namespace")
            text += part
        return int(json.loads(text)["child-pid"])

    def _scratch_of(self, inside: int, deadline: float) -> int:
        ours = os.stat("/")
        while time.monotonic() < deadline:
            try:
                root = os.stat(f"/proc/{inside}/root/")
                if (root.st_dev, root.st_ino) != (ours.st_dev, ours.st_ino):
                    # This folder is missing until bubblewrap has built the whole root.
                    return os.open(f"/proc/{inside}/root/tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                pass
            self.ended = tree.reap(self.main, self.ended)
            if self.ended.status is not None:
                break
            time.sleep(0.0002)
        raise StartError("bubblewrap ended before it was ready")

    def _watch(self, deadline: float) -> None:
        tick = _TICK
        while self.ended.status is None and not self.stop_reason:
            left = deadline - time.monotonic()
            if left <= 0:
                self.stop_reason = "time"
                return
            ready = self.poll.poll(min(left, tick) * 1000 + 0.5)
            for descriptor, _ in ready:
                self._serve(descriptor)
            if not ready:
                self._check()
                tick = min(tick * 1.3, _LAST_TICK)

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

    def _check(self) -> None:
        """Checks the limits that the kernel does not enforce for a whole tree of processes."""
        if not self.request["watched"]:
            return
        self.ticks += 1
        used = tree.measure(os.getpid())
        if used.tasks > self.limits["processes"] + self.request["helpers"]:
            self.stop_reason = "processes"
        elif used.memory > self.limits["memory_bytes"]:
            self.stop_reason = "memory"
        elif self.ticks % 3 == 0 and self._scratch_is_full():
            self.stop_reason = "scratch"

    def _scratch_is_full(self) -> bool:
        limit = int(self.limits["scratch_files"])
        if not self.request["base"]:
            status = os.fstatvfs(self.scratch)
            return status.f_files - status.f_ffree > limit
        found = scratch.measure(self.scratch, limit)
        return found.files > limit or found.size > self.limits["scratch_bytes"]

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
            "peak": self.ended.peak,
            "files": files,
            "refused": refused,
        }


def supervise(connection: socket.socket, caller: int, started: Callable[[], None]) -> None:
    """Reads one request, runs it and sends the report. `caller` is a pidfd or -1. `started` is called once the script runs."""
    if sys.platform == "linux":
        from .kernel import adopt_orphans

        adopt_orphans()
    request: Request = marshal.loads(read_message(connection))  # noqa: S302  from our own process, over a private socket
    report: dict[str, object]
    try:
        report = SupervisedRun(connection, request, caller).run(started)
    except (StartError, OSError) as error:
        report = {"cannot_start": str(error)}
    started()
    try:
        write_message(connection, marshal.dumps(report))
    except OSError:
        pass  # the caller has ended


def read_message(connection: socket.socket) -> bytes:
    length = int.from_bytes(_exactly(connection, 8), "big")
    return _exactly(connection, length)


def write_message(connection: socket.socket, data: bytes) -> None:
    connection.sendall(len(data).to_bytes(8, "big") + data)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(1 << 20, length - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
