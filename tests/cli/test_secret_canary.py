"""No value of a secret in anything that metier writes, prints or sends: one journey, and a search through all of it."""

from __future__ import annotations

import base64
import os
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from cli.chat.chat_setup import counting
from cli.shell import Ran, Shell
from guards import eventually
from metier.testing import ModelAnswer, ModelRequest, ModelServer, calls, says

ECHO = '''"""Count words.

Args:
    args: The words.
"""
import base64, os, sys, time

key = os.environ.get("COUNT_KEY", "none")
print("count", len(sys.argv) - 1, key, base64.b64encode(f"user:{key}".encode()).decode(), repr(key))
print("to stderr", key, file=sys.stderr)
if "fail" in sys.argv:
    raise RuntimeError(f"cannot use {key}")
if "crash" in sys.argv:
    os.abort()
if "wait" in sys.argv:
    open(os.environ["HOME"] + "/kept", "w").write(key)
    time.sleep(60)
'''


class Collector(ThreadingHTTPServer):
    """A service for telemetry that keeps everything it gets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Collect)
        self.got: list[bytes] = []


class _Collect(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.got.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keeps the output of the tests clean."""


def _script(request: ModelRequest) -> ModelAnswer:
    if "count" in request.user and request.body["messages"][-1]["role"] == "user":
        return calls("word-count_count", args=["fail" if "fail" in request.user else "one"])
    return says("Done.")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(_script) as server:
        yield server


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def shell(shell: Shell, model: ModelServer, collector: Collector, tmp_path: Path) -> Shell:
    counting(shell, model)
    (shell.skills / "word-count/scripts/count.py").write_text(ECHO)
    (tmp_path / "tmp").mkdir()
    shell.environment |= {
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "METIER_TELEMETRY_ENABLED": "true",
        "METIER_TELEMETRY_CONTENT": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
    }
    return shell


def forms(value: str) -> list[bytes]:
    data = value.encode()
    inner = base64.b64encode(data)[:-4]
    shifted = [base64.b64encode(b"x" * offset + data)[4:-4] for offset in (1, 2)]
    return [data, data[::-1], data.hex().encode(), quote(value, safe="").encode(), inner, *shifted]


@pytest.mark.parametrize("vault", ["file", "passphrase"])
def test_a_value_is_nowhere_after_a_whole_journey(
    shell: Shell, model: ModelServer, collector: Collector, tmp_path: Path, vault: str
) -> None:
    value = f"cn+/{secrets.token_urlsafe(24)}"
    shell.environment |= {"METIER_SECRETS_STORE": vault, "METIER_SECRETS_PASSPHRASE": "correct horse"}
    given = tmp_path / "given"
    given.write_text(value)
    ran: list[Ran] = [shell("secret", "set", "COUNT_KEY", "--skill", "word-count", "--stdin", stdin=str(given))]
    given.unlink()
    ran += [shell("skill", "run", "word-count", "count", "--secret", "COUNT_KEY", *more) for more in ((), ("--json",))]
    assert "[COUNT_KEY]" in ran[-1].data["stdout"]
    assert "[COUNT_KEY]" in ran[-1].data["stderr"]
    ran.append(shell("policy", "allow", "Secret(COUNT_KEY)", "--skill", "word-count"))
    for words in (("fail",), ("crash",), ("one", "two")):
        ran += [shell("skill", "run", "word-count", "count", *more, "--", *words) for more in ((), ("--json",))]
    ran += [shell("run", "count them"), shell("run", "count and fail", "--json")]
    typed = shell.project / "typed"
    typed.write_text("count these\n/quit\n")
    ran.append(shell("chat", stdin=str(typed)))
    ran += _killed(shell)
    ran += [shell(*words.split()) for words in (
        "doctor", "doctor --json", "skill show word-count --json", "policy show --json", "secret list --json", "stats --json",
        "session list --json", "config show --json", "skill run word-count nope", "skill scan word-count --json",
    )]  # fmt: skip
    assert len(model.requests) >= 6
    assert any("[COUNT_KEY]" in str(request.body) for request in model.requests)
    assert collector.got, "no telemetry arrived, so nothing was searched"
    for form in forms(value):
        for each in ran:
            assert form not in each.raw + each.raw_err, each.words
        assert not [request for request in model.requests if form in str(request.body).encode()]
        assert not [body for body in collector.got if form in body]
        assert _files_with(form, tmp_path) <= ({shell.metier / "secrets.json"} if vault == "file" else set())


def _killed(shell: Shell) -> list[Ran]:
    """Kills metier while a script that holds the value runs."""
    words = ("skill", "run", "word-count", "count", "--", "wait")
    with shell.start(*words) as process:
        eventually(lambda: _children(process.pid) >= 1, "the script has started")
        time.sleep(0.3)
        process.kill()
        out, err = process.communicate(timeout=30)
    return [Ran(words, process.returncode, out or b"", err or b"")]


def _children(pid: int) -> int:
    """Counts the children of every thread: a run is started in one of them."""
    try:
        return sum(len(file.read_text().split()) for file in Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:
        return 0


def _files_with(form: bytes, folder: Path) -> set[Path]:
    found = set()
    for here, _, names in os.walk(folder):
        for name in names:
            path = Path(here) / name
            try:
                if path.is_file() and form in path.read_bytes():
                    found.add(path)
            except OSError:
                continue
    return found
