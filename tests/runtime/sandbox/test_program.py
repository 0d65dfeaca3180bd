"""A whole program in a namespace: its system call filter, and its end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from metier.runtime.sandbox import ConfinedProgram, namespace_problem, system_call_filter

ATTEMPTS = """
import ctypes, errno, json, socket
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, words in {"unshare": (0x10000000,), "ptrace": (0, 0, 0, 0), "mount": (None, b"/tmp", b"tmpfs", 0, None)}.items():
    ctypes.set_errno(0)
    found[name] = errno.errorcode.get(ctypes.get_errno(), "done") if getattr(libc, name)(*words) < 0 else "done"
for name, family in {"netlink": 16, "packet": 17, "vsock": 40}.items():
    try:
        socket.socket(family, socket.SOCK_RAW).close()
        found[name] = "done"
    except OSError as error:
        found[name] = errno.errorcode[error.errno]
left, right = socket.socketpair()
socket.socket(socket.AF_INET).close()
print(json.dumps(found))
"""
SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(600)"


def start(folder: Path, code: str) -> subprocess.Popen[str]:
    if problem := namespace_problem():
        pytest.skip(problem)
    (folder / "home").mkdir()
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryFile() as rules:
        server.bind(str(folder / "model"))
        rules.write(system_call_filter())
        rules.seek(0)
        program = ConfinedProgram(
            words=(os.path.realpath(sys.executable), "-I", "-S", "-c", code), home=str(folder / "home"), folder="/home/user",
            socket=str(folder / "model"), port=8080, environment={"LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        return subprocess.Popen(
            program.command(filter_descriptor=rules.fileno()), env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            pass_fds=(rules.fileno(),),
        )  # fmt: skip


def test_calls_that_have_broken_sandboxes_are_denied_and_usual_ones_work(tmp_path: Path) -> None:
    with start(tmp_path, ATTEMPTS) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        assert process.stdin is not None
        process.stdin.close()
    assert found == dict.fromkeys(("unshare", "ptrace", "mount", "netlink", "packet", "vsock"), "EPERM")


def test_it_ends_when_the_process_that_started_it_has_ended(tmp_path: Path) -> None:
    # The kernel closes the pipe of a killed process, as this test does.
    with start(tmp_path, SLEEP) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.stdin.close()
        assert process.wait() != 0
        # Every process of the program had this pipe.
        assert process.stdout.read() == ""
