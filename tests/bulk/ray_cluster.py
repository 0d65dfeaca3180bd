"""A Ray cluster of two nodes on the loopback addresses of this machine, of which one can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from guards import eventually
from registry.servers import free_port

__all__ = ["RayCluster"]

_PATIENCE = 120.0
_HEAD, _SECOND = "127.0.0.2", "127.0.0.3"
_SMALL = ("--num-cpus", "1", "--object-store-memory", str(100 * 1024**2), "--include-log-monitor", "false")
# jsonschema does without this package, and Ray imports it in each of its processes, where it takes four seconds.
_SLOW_IMPORT = "rfc3987_syntax"


class RayCluster:
    """`ray start` for a head and a second node, each with one processor and in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "path").mkdir()
        (folder / f"path/{_SLOW_IMPORT}.py").write_text("raise ImportError\n")
        root = Path(__file__).parents[2]
        # Workers import the functions of the tests by name.
        path = os.pathsep.join(map(str, (folder / "path", root / "tests", root)))
        self.environment = {**os.environ, "PYTHONPATH": path, "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120"}
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        port, client_port = free_port(), free_port()
        self.address = f"{_HEAD}:{port}"
        self.client_address = f"ray://{_HEAD}:{client_port}"
        # Ray has sockets below it, whose paths may have 107 characters.
        self._files = tempfile.mkdtemp(prefix="ray-")
        self._head = ("--head", "--port", str(port), "--ray-client-server-port", str(client_port),
                      "--include-dashboard", "false", "--temp-dir", self._files)  # fmt: skip

    def start_second_node(self) -> None:
        self._kill(_SECOND)
        self._start(_SECOND, "--address", self.address)

    def kill_second_node(self) -> None:
        """Kills all processes of the second node, without a word to the first one."""
        self._kill(_SECOND)

    def kill_head(self) -> None:
        self._kill(_HEAD)

    def __enter__(self) -> Self:
        try:
            self._start(_HEAD, *self._head)
            self.start_second_node()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for address in (_SECOND, _HEAD):
            self._kill(address)
        shutil.rmtree(self._files, ignore_errors=True)

    def _start(self, address: str, *words: str) -> None:
        log = self._folder / f"{address}.log"
        ray = str(Path(sys.executable).with_name("ray"))
        with open(log, "wb") as stream:
            self._nodes[address] = subprocess.Popen(
                [ray, "start", *words, "--node-ip-address", address, *_SMALL, "--disable-usage-stats", "--block"],
                env=self.environment, stdout=stream, stderr=stream, start_new_session=True,
            )  # fmt: skip
        eventually(lambda: b"Ray runtime started" in log.read_bytes(), f"the Ray node {address} runs", patience=_PATIENCE)

    def _kill(self, address: str) -> None:
        node = self._nodes.pop(address, None)
        if node is not None:
            with suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
            node.wait()
