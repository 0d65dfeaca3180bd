"""One run from its start to the end of its last process, watched by a process of its own.

It is not part of the caller's process: that one may be killed, may have threads, may be busy. This one has a single
thread, holds the clock, reads the output, counts what the run uses, and does not leave before everything is gone.
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
from .confinement import Request, become, limit, spawn_bubblewrap

__all__ = ["read_message", "supervise", "write_message"]

_READ = 1 << 16
_FLOOD = 16
"""A script that writes this many times more than the limit is ended: nobody reads it any more."""
_TICK, _LAST_TICK = 0.01, 0.05
_SETUP_SECONDS = 10.0


class StartError(Exception):
    """The level could not be had; the script has not run."""


class Cut:
    """Two streams with one limit. Says exactly which of them lost something."""

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


class Supervised:
    """The state of one run. `why` says what made us end it; empty when it ended by itself."""

    def __init__(self, link: socket.socket, request: Request, host: int) -> None:
        self.link = link
        self.request = request
        self.host = host
        self.limits: dict[str, float] = request["limits"]
        self.cut = Cut(int(self.limits["output_bytes"]))
        self.poll = select.poll()
        self.streams: dict[int, str] = {}
        self.stdin = -1
        self.to_write = memoryview(request["stdin"] or b"")
        self.main = 0
        self.ended = tree.Ended()
        self.room = -1
        """A descriptor of the scratch folder."""
        self.why = ""
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
                self._furnish(base)
            since = self._start()
            started()
            self._watch(since + self.limits["seconds"])
            self.ended = tree.end(self.main, self.ended)
            seconds = time.monotonic() - since
            self._drain()
            files, refused = scratch.collect(self.room, self.request["outputs"], int(self.limits["scratch_bytes"]))
            return self._told(seconds, files, refused)
        finally:
            if self.main:
                tree.end(self.main, self.ended)
            if base:
                scratch.remove(base)

    def _furnish(self, base: str) -> None:
        os.mkdir(f"{base}/scratch", 0o700)
        self.room = os.open(f"{base}/scratch", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        scratch.mirror(self.request["folder"], self.request["script_path"], self.request["script"], f"{base}/skill")

    def _start(self) -> float:
        out, out_write = os.pipe()
        err, err_write = os.pipe()
        failed, complain = os.pipe()
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
                    become(self.request, stdio, complain)
        except StartError as error:
            tree.end(self.main, self.ended)
            os.set_blocking(err_write, False)
            os.write(err_write, b" ")
            raise StartError(f"{error}: {os.read(err, 2000).decode(errors='replace').strip()}".rstrip(": ")) from None
        finally:
            for descriptor in (*stdio, complain):
                os.close(descriptor)
        said = os.read(failed, 4096)
        os.close(failed)
        if said:
            raise StartError(said.decode(errors="replace"))
        self.streams = {out: "stdout", err: "stderr"}
        for descriptor in self.streams:
            os.set_blocking(descriptor, False)
            self.poll.register(descriptor, select.POLLIN)
        if self.stdin >= 0:
            os.set_blocking(self.stdin, False)
            self.poll.register(self.stdin, select.POLLOUT)
        self.poll.register(self.link.fileno(), select.POLLIN)
        self.poll.register(self.wake, select.POLLIN)
        if self.host >= 0:
            self.poll.register(self.host, select.POLLIN)
        return time.monotonic()

    def _start_in_namespace(self, stdio: tuple[int, int, int]) -> None:
        """Wait until bubblewrap has built everything, take hold of the scratch folder, set the limit, let it go on."""
        told, tell = os.pipe()
        wait, release = os.pipe()
        try:
            self.main = spawn_bubblewrap(self.request, stdio, (tell, wait))
            os.close(tell)
            os.close(wait)
            deadline = time.monotonic() + _SETUP_SECONDS
            inside = self._child_of_bubblewrap(told, deadline)
            self.room = self._scratch_of(inside, deadline)
            # Only now: processes are counted from inside the new user namespace, not with all that the user has running.
            limit(inside, self.request)
            os.write(release, b"!")
        except OSError as error:
            raise StartError(f"bubblewrap: {error}") from None
        finally:
            os.close(told)
            os.close(release)

    def _child_of_bubblewrap(self, told: int, deadline: float) -> int:
        said = b""
        while b"}" not in said:
            ready, _, _ = select.select([told], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(told, 4096) if ready else b""
            if not part:
                raise StartError("bubblewrap ended before it had built anything")
            said += part
        return int(json.loads(said)["child-pid"])

    def _scratch_of(self, inside: int, deadline: float) -> int:
        ours = os.stat("/")
        while time.monotonic() < deadline:
            try:
                root = os.stat(f"/proc/{inside}/root/")
                if (root.st_dev, root.st_ino) != (ours.st_dev, ours.st_ino):
                    # While bubblewrap builds, its root has no such folder; afterwards it is complete.
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
        while self.ended.status is None and not self.why:
            left = deadline - time.monotonic()
            if left <= 0:
                self.why = "time"
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
            # The caller hung up, or is gone.
            self.why = "cancel"

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
        self.cut.take(self.streams[descriptor], data)
        if self.cut.flood < 0:
            self.why = self.why or "output"
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
        """What the kernel does not limit for a whole tree, we look at ourselves."""
        if not self.request["watched"]:
            return
        self.ticks += 1
        used = tree.usage(os.getpid())
        if used.tasks > self.limits["processes"] + self.request["helpers"]:
            self.why = "processes"
        elif used.memory > self.limits["memory_bytes"]:
            self.why = "memory"
        elif self.ticks % 3 == 0 and self._scratch_is_full():
            self.why = "scratch"

    def _scratch_is_full(self) -> bool:
        most = int(self.limits["scratch_files"])
        if not self.request["base"]:
            about = os.fstatvfs(self.room)
            return about.f_files - about.f_ffree > most
        found = scratch.space(self.room, most)
        return found.files > most or found.size > self.limits["scratch_bytes"]

    def _drain(self) -> None:
        for descriptor in list(self.streams):
            while self._read(descriptor):
                pass

    def _told(self, seconds: float, files: object, refused: object) -> dict[str, object]:
        code = os.waitstatus_to_exitcode(self.ended.status) if self.ended.status is not None else None
        return {
            "exit_code": None if self.why or code is None else 128 - code if code < 0 else code,
            "why": self.why,
            "stdout": b"".join(self.cut.parts["stdout"]),
            "stderr": b"".join(self.cut.parts["stderr"]),
            "stdout_truncated": self.cut.truncated["stdout"],
            "stderr_truncated": self.cut.truncated["stderr"],
            "seconds": seconds,
            "peak": self.ended.peak,
            "files": files,
            "refused": refused,
        }


def supervise(link: socket.socket, host: int, started: Callable[[], None]) -> None:
    """Read one request, run it, answer. `host` is a pidfd of the caller, or -1; `started` is called once the script runs."""
    if sys.platform == "linux":
        from .kernel import adopt_orphans

        adopt_orphans()
    request: Request = marshal.loads(read_message(link))  # noqa: S302  from our own process, over a private socket
    answer: dict[str, object]
    try:
        answer = Supervised(link, request, host).run(started)
    except (StartError, OSError) as error:
        answer = {"cannot_start": str(error)}
    started()
    try:
        write_message(link, marshal.dumps(answer))
    except OSError:
        pass  # nobody is listening any more


def read_message(link: socket.socket) -> bytes:
    length = int.from_bytes(_exactly(link, 8), "big")
    return _exactly(link, length)


def write_message(link: socket.socket, data: bytes) -> None:
    link.sendall(len(data).to_bytes(8, "big") + data)


def _exactly(link: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = link.recv(min(1 << 20, length - len(data)))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
