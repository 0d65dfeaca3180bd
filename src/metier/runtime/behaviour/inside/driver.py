"""Runs the steps of a skill inside the sandbox and records what they do. Standard library only: it is given as bytes.

Each step is started under a filter that reports some of its system calls to this process (seccomp user notification): files
opened, programs started, addresses connected to, sleeps, signals. This needs no rights, covers static programs, and the step
cannot remove it. Calls are recorded and continue; sleeps return at once; signals to this process are refused.

The records go to stdout, one JSON object a line.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import fcntl
import filecmp
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

PLAN = "/run/metier/plan.json"
LINK = 200
MARKS = "/run/metier/"
RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
SINK_PORT = 3128
MOST_RECORDS, MOST_OUTPUT, MOST_LISTENERS, MOST_SLEEPS = 2000, 6000, 60, 300
GRACE = 0.25
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36

libc = ctypes.CDLL(None, use_errno=True)


Answer = tuple[int, int] | None
"""The value and the error that a call returns instead of being made; None to let it be made."""


class StepState:
    """A step while it runs."""

    output = b""
    ended: int | None = None
    watched = False
    """A process of it is left."""


class Records:
    """Writes each record once for each step."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.counts: dict[int, int] = {}
        self.parts: list[str] = []

    def add(self, step: int, kind: str, **values: object) -> None:
        key = json.dumps([step, kind, values], sort_keys=True)
        count = self.counts.get(step, 0)
        if key in self.seen or count > MOST_RECORDS:
            return
        self.seen.add(key)
        self.counts[step] = count + 1
        self.parts.append(json.dumps({"step": step, "kind": kind, **values}) + "\n")

    def flush(self) -> None:
        data = "".join(self.parts).encode("utf-8", "backslashreplace")
        self.parts = []
        while data:
            data = data[os.write(1, data) :]


class Memory:
    """Reads the memory of processes."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}

    def read(self, pid: int, address: int, length: int) -> bytes:
        try:
            if pid not in self.open:
                if len(self.open) > 40:
                    self.forget(next(iter(self.open)))
                self.open[pid] = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(self.open[pid], length, address)
        except OSError:
            return b""

    def text(self, pid: int, address: int, most: int = 4096) -> str:
        found = b""
        while address and len(found) < most:
            part = self.read(pid, address, 4096 - address % 4096)
            end = part.find(b"\0")
            found += part if end < 0 else part[:end]
            if end >= 0 or not part:
                break
            address += len(part)
        return found[:most].decode("utf-8", "backslashreplace")

    def forget(self, pid: int) -> None:
        if pid in self.open:
            os.close(self.open.pop(pid))


class Driver:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        plan["quiet"] = (*plan["quiet"], *(f"{each}/" for each in {sys.prefix, sys.base_prefix} if each != "/"))
        self.calls = {int(number): name for number, name in plan["calls"].items()}
        self.records = Records()
        self.memory = Memory()
        self.poll = select.epoll()
        self.sources: dict[int, Callable[[int], None]] = {}
        """The function to call when a descriptor is ready."""
        self.listeners: set[tuple[str, int]] = set()
        self.sleeps = 0
        self.own = os.getpid()
        self.deadline = time.monotonic() + plan["seconds"]

    # The made-up home, and the steps in it.

    def prepare(self) -> None:
        os.makedirs("/tmp/home", exist_ok=True)
        for path, data in self.plan["files"].items():
            os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
            with open(path, "wb") as file:
                file.write(base64.b64decode(data))
            os.chmod(path, 0o700 if path.startswith(self.plan["commands"]) else 0o600)
        if self.plan["skill"]:
            shutil.copytree(self.plan["skill"], self.plan["skill_copy"], ignore_dangling_symlinks=True, dirs_exist_ok=True)
            for folder, _, names in os.walk(self.plan["skill_copy"]):
                for name in names:
                    os.chmod(os.path.join(folder, name), 0o700)
        for folder in self.plan["folders"]:
            os.makedirs(folder, exist_ok=True)
        for name in ("python", "python3"):
            os.symlink(sys.executable, f"{self.plan['commands']}/{name}")
        for name in os.listdir(self.plan["skill_copy"]):
            # Instructions name scripts relative to the skill or to the project.
            place = os.path.join(self.plan["project"], name)
            if not os.path.lexists(place) and name != "SKILL.md":
                os.symlink(os.path.join(self.plan["skill_copy"], name), place)

    def run(self) -> None:
        self.prepare()
        for number, step in enumerate(self.plan["steps"]):
            if time.monotonic() >= self.deadline:
                self.records.add(number, "skipped", why="time")
                continue
            self.run_step(number, step)
            self.records.flush()
        self.report_files()
        self.records.add(-1, "end", seconds=round(sum(os.times()[:4]), 3))
        self.records.flush()

    def run_step(self, number: int, step: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        inner, outer = pty.openpty() if step["terminal"] else os.pipe()
        data = step["stdin"].encode()
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        if data:
            os.write(write_end, data[:60000])
        os.close(write_end)
        pid = os.fork()
        if pid == 0:
            try:
                become(step, theirs, outer, outer if step["terminal"] else read_end, base64.b64decode(self.plan["filter"]))
            except BaseException as error:  # nothing may leave this function
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(127)
        theirs.close()
        os.close(outer)
        os.close(read_end)
        if step["terminal"]:
            os.write(inner, (data or b"y\ny\n")[:2000] + b"\x04\x04")
        state = StepState()
        self.watch_output(inner, state)
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        ours.close()
        if descriptors:
            state.watched = True
            self.watch_calls(descriptors[0], number, state)
        alive = os.pidfd_open(pid)
        self.register(alive, lambda _: None)
        started = time.monotonic()
        end = min(started + step["seconds"], self.deadline)
        stop = self.wait(pid, end, state)
        self.forget(alive)
        self.kill_group(pid)
        text = state.output.decode("utf-8", "replace")
        self.records.add(
            number, "ended", status=state.ended, stopped=stop, output=text, seconds=round(time.monotonic() - started, 3)
        )

    def wait(self, pid: int, end: float, state: StepState) -> str:
        """Serves until the step and what it started have ended, a moment after the first, or the time is over."""
        grace = None
        while True:
            now = time.monotonic()
            if state.ended is None:
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    state.ended = os.waitstatus_to_exitcode(status)
                    grace = now + GRACE
            if now >= end:
                return "" if state.ended is not None else "time"
            if grace is not None and (now >= grace or not state.watched):
                return ""
            for descriptor, events in self.poll.poll(0.02):
                if descriptor in self.sources:
                    with contextlib.suppress(OSError):
                        self.sources[descriptor](events)

    def kill_group(self, pid: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        while True:
            try:
                found, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not found:
                return
            self.memory.forget(found)

    def report_files(self) -> None:
        """Reports planted files that changed or are gone, and new files outside the project and temporary folders."""
        home = self.plan["home"]
        for path, data in self.plan["files"].items():
            before = base64.b64decode(data)
            try:
                with open(path, "rb") as file:
                    after = file.read(200_000)
            except OSError:
                self.records.add(-1, "gone", path=path)
                continue
            if after != before[:200_000]:
                added = after.removeprefix(before)
                self.records.add(-1, "changed", path=path, data=added[:2000].decode("utf-8", "replace"))
        found = 0
        for folder, folders, names in os.walk(home):
            folders[:] = [each for each in folders if each not in ("__pycache__", ".cache", ".pycache", "node_modules")]
            for name in names:
                path = os.path.join(folder, name)
                if path in self.plan["files"] or (found := found + 1) > 400:
                    continue
                if path.startswith(self.plan["skill_copy"] + "/"):
                    self.report_own(path)
                    continue
                try:
                    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                    data = os.read(descriptor, 2000)
                    os.close(descriptor)
                except OSError:
                    data = b""
                self.records.add(-1, "new", path=path, data=data.decode("utf-8", "replace"))

    def report_own(self, path: str) -> None:
        inside = os.path.relpath(path, self.plan["skill_copy"])
        original = os.path.join(self.plan["skill"], inside)
        if os.path.isfile(original) and not (os.path.isfile(path) and filecmp.cmp(path, original, shallow=False)):
            self.records.add(-1, "own", path=inside)

    # Output.

    def watch_output(self, descriptor: int, state: StepState) -> None:
        os.set_blocking(descriptor, False)
        taken = 0

        def read(_: int) -> None:
            nonlocal taken
            try:
                data = os.read(descriptor, 65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            taken += len(data)
            state.output = (state.output + data)[:MOST_OUTPUT]
            if not data or taken > 50_000_000:
                self.forget(descriptor)

        self.register(descriptor, read)

    def register(self, descriptor: int, function: Callable[[int], None]) -> None:
        self.sources[descriptor] = function
        self.poll.register(descriptor, select.EPOLLIN)

    def forget(self, descriptor: int) -> None:
        if descriptor in self.sources:
            del self.sources[descriptor]
            self.poll.unregister(descriptor)
            os.close(descriptor)

    # System calls.

    def watch_calls(self, descriptor: int, step: int, state: StepState) -> None:
        def read(events: int) -> None:
            if events & select.EPOLLIN:
                self.serve_call(descriptor, step)
            elif events & select.EPOLLHUP:
                state.watched = False
                self.forget(descriptor)

        self.register(descriptor, read)

    def serve_call(self, descriptor: int, step: int) -> None:
        buffer = bytearray(80)
        try:
            fcntl.ioctl(descriptor, RECEIVE, buffer, True)
        except OSError:
            return
        call, pid, _, number, _, _, *arguments = struct.unpack("=QIIiIQ6Q", buffer)
        value, error, flags = 0, 0, CONTINUE
        try:
            answer: Answer = getattr(self, f"on_{self.calls[number]}")(step, pid, arguments)
            if answer is not None:
                value, error, flags = *answer, 0
        except (OSError, ValueError, struct.error):
            pass
        with contextlib.suppress(OSError):  # the process may have ended
            fcntl.ioctl(descriptor, SEND, struct.pack("=QqiI", call, value, error, flags))

    def path(self, pid: int, folder: int, address: int) -> str:
        text = self.memory.text(pid, address)
        if text.startswith("/") or not text:
            return os.path.normpath(text) if text else ""
        folder = ctypes.c_int32(folder & 0xFFFFFFFF).value
        try:
            base = os.readlink(f"/proc/{pid}/cwd" if folder == -100 else f"/proc/{pid}/fd/{folder}")
        except OSError:
            base = "?"
        return os.path.normpath(f"{base}/{text}")

    def opened(self, step: int, pid: int, path: str, flags: int) -> None:
        writes = flags & 3 != 0 or flags & 0o100 != 0
        if path.startswith(MARKS):
            # A clock or a stand-in of ours says what it did: /run/metier/sleep/3600, /run/metier/package/requests.
            kind, _, value = path.removeprefix(MARKS).partition("/")
            if kind == "sleep":
                self.records.add(step, "sleep", seconds=int(value))
            elif kind == "package":
                self.records.add(step, "package", path=value)
            elif kind == "stage":
                self.records.add(step, "stage", path=value)
        elif writes:
            self.records.add(step, "write", path=path)
        elif not path.startswith(self.plan["quiet"]):
            self.records.add(step, "read", path=path, by=self.program(pid))

    def program(self, pid: int) -> str:
        try:
            return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            return ""

    def on_open(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.opened(step, pid, self.path(pid, -100, arguments[0]), arguments[1])
        return None

    def on_openat(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.opened(step, pid, self.path(pid, arguments[0], arguments[1]), arguments[2])
        return None

    def on_openat2(self, step: int, pid: int, arguments: list[int]) -> Answer:
        flags = self.memory.read(pid, arguments[2], 8)
        self.opened(step, pid, self.path(pid, arguments[0], arguments[1]), struct.unpack("=Q", flags)[0])
        return None

    def on_execve(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.executed(step, pid, self.path(pid, -100, arguments[0]), arguments[1])
        return None

    def on_execveat(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.executed(step, pid, self.path(pid, arguments[0], arguments[1]), arguments[2])
        return None

    def executed(self, step: int, pid: int, path: str, table: int) -> None:
        words = []
        pointers = self.memory.read(pid, table, 8 * 40)
        for (address,) in struct.iter_unpack("=Q", pointers[: len(pointers) // 8 * 8]):
            if not address:
                break
            words.append(self.memory.text(pid, address, 1000))
        self.memory.forget(pid)
        if os.path.exists(path):  # a search of PATH tries several
            self.records.add(step, "exec", path=path, words=words)

    def on_unlink(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.records.add(step, "remove", path=self.path(pid, -100, arguments[0]))
        return None

    on_rmdir = on_unlink

    def on_unlinkat(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.records.add(step, "remove", path=self.path(pid, arguments[0], arguments[1]))
        return None

    def on_rename(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.records.add(step, "write", path=self.path(pid, -100, arguments[1]))
        return None

    def on_renameat(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.records.add(step, "write", path=self.path(pid, arguments[2], arguments[3]))
        return None

    on_renameat2 = on_linkat = on_renameat

    def on_link(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.records.add(step, "read", path=self.path(pid, -100, arguments[0]))
        self.records.add(step, "write", path=self.path(pid, -100, arguments[1]))
        return None

    on_symlink = on_link

    def on_symlinkat(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.records.add(step, "read", path=self.path(pid, -100, arguments[0]))
        self.records.add(step, "write", path=self.path(pid, arguments[1], arguments[2]))
        return None

    def on_nanosleep(self, step: int, pid: int, arguments: list[int]) -> Answer:
        return self.slept(step, pid, arguments[0], 0, 0)

    def on_clock_nanosleep(self, step: int, pid: int, arguments: list[int]) -> Answer:
        return self.slept(step, pid, arguments[2], arguments[1], arguments[0])

    def slept(self, step: int, pid: int, address: int, flags: int, clock: int) -> Answer:
        seconds, rest = struct.unpack("=qq", self.memory.read(pid, address, 16))
        wanted = seconds + rest / 1e9
        if flags & 1:
            wanted -= time.clock_gettime(clock)
        if wanted < 0.4 or self.sleeps >= MOST_SLEEPS:
            return None
        self.sleeps += 1
        if wanted >= 1:
            self.records.add(step, "sleep", seconds=round(wanted))
        return 0, 0

    def on_kill(self, step: int, pid: int, arguments: list[int]) -> Answer:
        target = ctypes.c_int32(arguments[0] & 0xFFFFFFFF).value
        if target in (self.own, -self.own, -os.getpgrp(), 1, -1) and arguments[1]:
            self.records.add(step, "signal", target=target)
            return 0, -errno.EPERM
        return None

    on_tkill = on_tgkill = on_rt_sigqueueinfo = on_rt_tgsigqueueinfo = on_kill

    def on_pidfd_open(self, step: int, pid: int, arguments: list[int]) -> Answer:
        return self.on_kill(step, pid, [arguments[0], signal.SIGKILL])

    # Network.

    def on_connect(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.addressed(step, pid, arguments[1], arguments[2], "connect")
        return None

    def on_sendto(self, step: int, pid: int, arguments: list[int]) -> Answer:
        self.addressed(step, pid, arguments[4], arguments[5], "send")
        return None

    def on_sendmsg(self, step: int, pid: int, arguments: list[int]) -> Answer:
        address, length = struct.unpack("=QI", self.memory.read(pid, arguments[1], 12))
        self.addressed(step, pid, address, length, "send")
        return None

    on_sendmmsg = on_sendmsg

    def addressed(self, step: int, pid: int, address: int, length: int, kind: str) -> None:
        if not address or not length:
            return
        data = self.memory.read(pid, address, min(length, 128))
        family = struct.unpack("=H", data[:2])[0]
        if family == socket.AF_UNIX:
            self.records.add(step, "unix", path=data[2:].split(b"\0")[0].decode("utf-8", "replace"))
            return
        if family == socket.AF_INET:
            port, host = struct.unpack("!H", data[2:4])[0], socket.inet_ntop(family, data[4:8])
        elif family == socket.AF_INET6:
            port, host = struct.unpack("!H", data[2:4])[0], socket.inet_ntop(family, data[8:24])
            host = host.removeprefix("::ffff:")
        else:
            return
        if host == "0.0.0.0" or host.startswith(("127.", "::")) or not port:
            return
        self.records.add(step, kind, host=host, port=port)
        self.listen(host, port)

    def listen(self, host: str, port: int) -> None:
        if (host, port) in self.listeners or len(self.listeners) >= MOST_LISTENERS:
            return
        self.listeners.add((host, port))
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        kinds = (socket.SOCK_DGRAM,) if port in self.plan["ports"] else (socket.SOCK_DGRAM, socket.SOCK_STREAM)
        for kind in kinds:
            listener = socket.socket(family, kind)
            try:
                listener.bind((host, port))
            except OSError:
                continue
            if kind == socket.SOCK_STREAM:
                listener.listen(16)
            take = self.accept if kind == socket.SOCK_STREAM else self.take_datagram
            self.register(listener.fileno(), partial(take, listener, host, port))

    def take_datagram(self, queries: socket.socket, host: str, port: int, _: int) -> None:
        data, source = queries.recvfrom(4096)
        self.records.add(-1, "datagram", host=host, port=port, data=base64.b64encode(data[:2048]).decode())
        if port != 53:
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            link.settimeout(1)
            link.sendto(data, ("127.0.0.1", 53))
            with contextlib.suppress(OSError):
                queries.sendto(link.recv(4096), source)

    def accept(self, listener: socket.socket, host: str, port: int, _: int) -> None:
        """Joins a connection to a port that the sinkhole does not listen on with one to the sinkhole."""
        client, _ = listener.accept()
        try:
            outer = socket.create_connection(("127.0.0.1", SINK_PORT), timeout=2)
            outer.sendall(f"METIER {host} {port}\n".encode())
        except OSError:
            client.close()
            return
        self.join(client, outer)

    def join(self, client: socket.socket, outer: socket.socket) -> None:
        pending = {client: b"", outer: b""}
        closed: list[bool] = []

        def close() -> None:
            if not closed:
                closed.append(True)
                for each in pending:
                    self.sources.pop(each.fileno(), None)
                    self.poll.unregister(each.fileno())
                    each.close()

        def serve(source: socket.socket, target: socket.socket, events: int) -> None:
            try:
                if events & select.EPOLLOUT and pending[source]:
                    pending[source] = pending[source][source.send(pending[source]) :]
                if events & (select.EPOLLIN | select.EPOLLHUP) and len(pending[target]) < 1 << 20:
                    data = source.recv(65536)
                    if not data:
                        close()
                        return
                    pending[target] += data
                    pending[target] = pending[target][target.send(pending[target]) :]
            except BlockingIOError:
                pass
            except OSError:
                close()
                return
            for each in pending:
                self.poll.modify(each.fileno(), select.EPOLLIN | (select.EPOLLOUT if pending[each] else 0))

        for source, target in ((client, outer), (outer, client)):
            source.setblocking(False)
            self.register(source.fileno(), partial(serve, source, target))


def become(step: dict[str, Any], link: socket.socket, output: int, stdin: int, program: bytes) -> None:
    """Turns this process into the step, under the filter."""
    os.setsid()
    for source, target in ((stdin, 0), (output, 1), (output, 2), (link.fileno(), LINK)):
        os.dup2(source, target, inheritable=target < 3)
    if step["terminal"]:
        fcntl.ioctl(0, 0x540E, 0)  # TIOCSCTTY
    os.chdir(step["folder"])
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    number = 317 if os.uname().machine == "x86_64" else 277
    listener = libc.syscall(ctypes.c_long(number), ctypes.c_ulong(1), ctypes.c_ulong(8), head)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "the filter was not installed")
    socket.send_fds(socket.socket(fileno=LINK), [b"+"], [listener])
    os.close(listener)
    words = [sys.executable if word == "@python" else word for word in step["words"]]
    os.execvpe(words[0], words, step["environment"])


if __name__ == "__main__":
    with open(PLAN, encoding="utf-8") as plan_file:
        PLANNED = json.load(plan_file)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    Driver(PLANNED).run()
