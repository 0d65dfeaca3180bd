"""A real OCI registry, Debian's `docker-registry`, on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["LOGIN", "docker_config", "docker_registry", "oras_pull", "oras_push"]

LOGIN = "dXNlcjpzZWNyZXQ="
"""`user:secret`"""
_PASSWORDS = "user:$2b$04$BIueimb20CaAZLpfl.js.OxxBQkIuumcb735Tsqx6H2DnTePvO35.\n"


@contextlib.contextmanager
def docker_registry(folder: Path, *, password: bool = False) -> Iterator[str]:
    """Yields HOST:PORT of a registry with its data in `folder`; with `password` it wants the login user:secret."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"127.0.0.1:{free.getsockname()[1]}"
    settings = f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder / 'data'}}}}}\n"
    settings += f"http: {{addr: '{host}'}}\n"
    if password:
        (folder / "htpasswd").write_text(_PASSWORDS)
        settings += f"auth: {{htpasswd: {{realm: test, path: {folder / 'htpasswd'}}}}}\n"
    (folder / "config.yml").write_text(settings)
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            [program, "serve", str(folder / "config.yml")], stdout=log, stderr=log,
            env={"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"},
        )  # fmt: skip
    try:
        for _ in range(600):
            if _answers(host):
                break
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        yield host
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def docker_config(folder: Path, host: str) -> None:
    """Writes the file that `docker login` would have written in a home."""
    (folder / ".docker").mkdir(parents=True, exist_ok=True)
    (folder / ".docker/config.json").write_text(json.dumps({"auths": {host: {"auth": LOGIN}}}))


def oras_push(target: str, *files: str, folder: Path, login: str = "") -> None:
    """Pushes files or folders, relative to `folder`."""
    _oras(f"client.push(target={target!r}, files={list(files)!r})", folder, login)


def oras_pull(target: str, folder: Path, *, login: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _oras(f"client.pull(target={target!r}, outdir={str(folder)!r})", folder, login)


def _oras(call: str, folder: Path, login: str) -> None:
    # In a process of its own: the library leaves its sockets open.
    auth = f"client.auth.set_basic_auth(*{login.split(':')!r})" if login else ""
    backend = "basic" if login else "token"
    code = f"import oras.client\nclient = oras.client.OrasClient(insecure=True, auth_backend={backend!r})\n{auth}\n{call}\n"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def _answers(host: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{host}/v2/", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
