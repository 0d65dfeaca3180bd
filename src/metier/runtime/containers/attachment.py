"""The supervisor's side of a container: its private folder, the wait until it is ready, its cgroup, its removal.

Runs in the small process that supervises a run, and imports no other module of metier than its siblings in the sandbox.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from metier.runtime.readable import wait_readable
from metier.runtime.sandbox import cgroup
from metier.runtime.sandbox.starter import StartError

__all__ = ["Attachment", "ContainerCgroup"]

_SETUP_SECONDS = 60.0
_REMOVE_SECONDS = 20.0
_READ = 1 << 16


class ContainerCgroup(NamedTuple):
    """The cgroup that the engine made for a container, with the limits that we asked for."""

    version: int
    memory: str

    def memory_exceeded(self) -> bool:
        return cgroup.memory_exceeded(self.version, self.memory)


class Attachment:
    """One container. `order` is made by `containers.plan`."""

    def __init__(self, order: dict[str, Any]) -> None:  # Any: strings, numbers, lists and dicts of them
        self.order = order
        self.is_ready = False
        self.pid = 0
        self.cgroup: ContainerCgroup | None = None
        self.scratch = -1
        """A descriptor of the scratch folder."""

    def make_files(self, base: str, script: bytes, root_files: list[bytes]) -> None:
        """Fills the folder of the run: the root with its links, the checked script, the filter, the files of its network."""
        os.mkdir(f"{base}/root", 0o755)
        for name in ("proc", "dev", "sys", "tmp", "etc", "run"):
            os.mkdir(f"{base}/root/{name}", 0o755)
        for path, target in self.order["links"].items():
            os.symlink(target, f"{base}/root{path}")
        network = [(f"file{number}", data, 0o444) for number, data in enumerate(root_files)]
        for name, data, mode in (("script", script, 0o555), ("seccomp.json", self.order["filter"], 0o444), *network):
            descriptor = os.open(f"{base}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)

    def wait_until_ready(self, out: int, cancel: list[int]) -> bool:
        """Waits for the word of the container. Returns False if the caller cancels; raises StartError if the client ends."""
        deadline = time.monotonic() + _SETUP_SECONDS
        ready: bytes = self.order["ready"]
        text = b""
        while len(text) < len(ready):
            found = wait_readable([out, *cancel], deadline - time.monotonic())
            if any(each in found for each in cancel):
                return False
            part = os.read(out, len(ready) - len(text)) if found else b""
            if not part:
                raise StartError("the container did not start" if found else f"no container in {_SETUP_SECONDS:.0f} seconds")
            text += part
        if text != ready:
            raise StartError("another program ran in the container")
        self._find_process()
        self.is_ready = True
        return True

    def start(self, stdin: int) -> None:
        """Sends the line that starts the script."""
        view = memoryview(self.order["line"])
        try:
            while view:
                view = view[os.write(stdin, view[:_READ]) :]
        except BrokenPipeError:
            raise StartError("the container ended before the script started") from None

    def remove(self) -> bool:
        """Ends the container and removes it. It may be gone already. Returns False if the engine fails."""
        return _output(self.order["remove"], self.order["environment"]) is not None

    def _find_process(self) -> None:
        order = self.order
        try:
            if order["pid_words"]:
                self.pid = int(_output(order["pid_words"], order["environment"]) or "0")
            else:
                with open(order["pid_file"], encoding="ascii") as file:
                    self.pid = int(file.read())
        except (OSError, ValueError):
            self.pid = 0
        if self.pid:
            found = cgroup.find_limited(f"/proc/{self.pid}", memory=order["memory"], tasks=order["tasks"])
            self.cgroup = ContainerCgroup(found.version, found.memory) if found else None
        if order["scratch"]:
            self.scratch = self._open_scratch(order["scratch"])

    def _open_scratch(self, path: str) -> int:
        try:
            ours, root = os.stat("/"), os.stat(f"/proc/{self.pid}/root/")
            if (root.st_dev, root.st_ino) != (ours.st_dev, ours.st_ino):
                return os.open(f"/proc/{self.pid}/root{path}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise StartError(f"the scratch folder of the container cannot be opened: {error.strerror}") from None
        raise StartError("the container has no root of its own")


def _output(words: list[str], environment: dict[str, str]) -> str | None:
    """Runs a client and returns what it prints, or None if it fails or takes too long."""
    reader, writer = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writer, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        pid = os.posix_spawn(words[0], words, environment, file_actions=actions)
    except OSError:
        os.close(reader)
        return None
    finally:
        os.close(writer)
    text = b""
    deadline = time.monotonic() + _REMOVE_SECONDS
    with open(reader, "rb", buffering=0) as stream:
        while wait_readable([stream], deadline - time.monotonic()) and (part := stream.read(4096)):
            text += part
    status = -1
    while status < 0 and time.monotonic() < deadline:
        ended, found = os.waitpid(pid, os.WNOHANG)
        status = found if ended else -1
        time.sleep(0 if ended else 0.002)
    return text.decode(errors="replace").strip() if status == 0 else None
