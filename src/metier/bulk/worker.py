"""A worker process of this machine, spoken to over its standard input and output."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import subprocess
import sys
from typing import Any

from .worker_process import FRAME

__all__ = ["WorkerProcess"]

_log = logging.getLogger(__name__)
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from metier.bulk.worker_process import main; main({memory}, {niceness})"
)
_END_SECONDS = 1.0


class WorkerProcess:
    """One process that calls functions of modules, one at a time, within a limit of memory."""

    def __init__(self, memory: int, niceness: int = 0) -> None:
        path = json.dumps([os.path.abspath(each) for each in sys.path])
        # A session of its own: Ctrl-C ends the server, which ends its workers.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START.format(memory=memory, niceness=niceness), path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def ask(self, job: bytes) -> tuple[str, Any, bool]:  # Any: depends on the job
        """Returns the kind of answer, its value, and whether the process has grown too large to be kept."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("both are pipes")
        try:
            stdin.write(FRAME.pack(len(job)))
            stdin.write(job)
            stdin.flush()
            head = stdout.read(FRAME.size)
            answer = stdout.read(FRAME.unpack(head)[0]) if len(head) == FRAME.size else b""
            if answer:
                found: tuple[str, Any, bool] = pickle.loads(answer)  # noqa: S301  (from our own process)
                return found
        except OSError:
            _log.debug("a worker process ended before its job")
        self.end()
        return "ended", self._process.returncode, False

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
