"""A whole program in a namespace: what it cannot reach, its system call filter, and its end.

The tests are the rows P01 to P05 in docs/sandbox.md.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

from builders import write_skill
from guards import eventually
from metier.runtime.sandbox import ConfinedProgram, namespace_problem, system_call_filter
from runtime.sandbox.escape.stage import survivors

ATTEMPTS = """
import ctypes, errno, json, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, words in {"unshare": (0x10000000,), "ptrace": (0, 0, 0, 0), "mount": (None, b"/tmp", b"tmpfs", 0, None)}.items():
    ctypes.set_errno(0)
    found[name] = errno.errorcode.get(ctypes.get_errno(), "done") if getattr(libc, name)(*words) < 0 else "done"
arm = platform.machine() == "aarch64"
for name, number in {"io_uring": 425, "bpf": 280 if arm else 321, "keyctl": 219 if arm else 250}.items():
    ctypes.set_errno(0)
    found[name] = errno.errorcode.get(ctypes.get_errno(), "done") if libc.syscall(number, 0, 0, 0, 0, 0) < 0 else "done"
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
REACH = """
import json, os, socket, sys
secret, port, abstract = json.loads(sys.argv[1])
found = {"environment": "TOKEN" in os.environ}
def tried(name, do):
    try:
        do()
        found[name] = True
    except OSError:
        found[name] = False
tried("file", lambda: open(secret).close())
tried("through proc", lambda: open("/proc/1/root" + secret).close())
tried("system", lambda: open("/etc/planted", "w").close())
tried("own program", lambda: open(os.path.realpath(sys.executable), "ab").close())
tried("loopback", lambda: socket.create_connection(("127.0.0.1", port), 5))
tried("metadata address", lambda: socket.create_connection(("169.254.169.254", 80), 5))
tried("abstract socket", lambda: socket.socket(socket.AF_UNIX).connect(abstract))
tried("home", lambda: open("kept", "w").close())
print(json.dumps(found))
"""
AGENT = """#!/bin/sh
setsid sh -c 'trap "" HUP TERM INT; sleep {nonce}' &
(setsid sleep {nonce} &)
sleep {nonce}
"""
SLEEP = "import time\nprint('up', flush=True)\ntime.sleep(600)"


def start(folder: Path, code: str, *words: str) -> subprocess.Popen[str]:
    if problem := namespace_problem():
        pytest.skip(problem)
    (folder / "home").mkdir()
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryFile() as rules:
        server.bind(str(folder / "model"))
        rules.write(system_call_filter())
        rules.seek(0)
        program = ConfinedProgram(
            words=(os.path.realpath(sys.executable), "-I", "-S", "-c", code, *words), home=str(folder / "home"),
            folder="/home/user", socket=str(folder / "model"), port=8080, environment={"LC_ALL": "C.UTF-8"},
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
    assert found == dict.fromkeys(
        ("unshare", "ptrace", "mount", "io_uring", "bpf", "keyctl", "netlink", "packet", "vsock"), "EPERM"
    )


def test_it_reaches_no_file_variable_or_network_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    (tmp_path / "secret").write_text("secret")
    abstract = f"\0metier-{uuid.uuid4().hex}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as other:
        other.bind(abstract)
        other.listen()
        about = json.dumps([str(tmp_path / "secret"), server.getsockname()[1], abstract])
        with start(tmp_path, REACH, about) as process:
            assert process.stdout is not None and process.stdin is not None
            found = json.loads(process.stdout.read())
            process.stdin.close()
    assert found.pop("home") is True
    assert (tmp_path / "home/kept").exists()
    assert found == dict.fromkeys(found, False)
    assert len(found) == 8


def test_an_agent_and_its_daemons_do_not_outlive_a_killed_metier(tmp_path: Path) -> None:
    if problem := namespace_problem():
        pytest.skip(problem)
    nonce = f"9{uuid.uuid4().int % 10**9:09d}"
    agent = tmp_path / "agent"
    agent.write_text(AGENT.format(nonce=nonce))
    agent.chmod(0o755)
    folder = write_skill(tmp_path / "skills", "pdf-forms")
    (folder / "evals").mkdir()
    (folder / "evals/eval_queries.json").write_text('[{"query": "fill in this form", "should_trigger": true}]')
    words = [str(Path(sys.executable).parent / "metier"), "skill", "eval", str(folder), "--agent", "claude-code"]
    words += ["--program", str(agent), "--model-url", "http://127.0.0.1:9", "--runs", "1"]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL) as metier:
        eventually(lambda: len(survivors(nonce)) >= 4, "the agent and its daemons start")
        metier.send_signal(signal.SIGKILL)
    eventually(lambda: survivors(nonce) == [], "all of them end")


def test_it_ends_when_the_process_that_started_it_has_ended(tmp_path: Path) -> None:
    # The kernel closes the pipe of a killed process, as this test does.
    with start(tmp_path, SLEEP) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.stdin.close()
        assert process.wait() != 0
        # Every process of the program had this pipe.
        assert process.stdout.read() == ""
