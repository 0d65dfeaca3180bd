"""Real servers on loopback: git daemon, git over HTTP with and without a password, HTTPS with an authority of its own,
servers that redirect, fail, dawdle and lie. Each is a context manager and is gone with its block."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

__all__ = ["Answer", "Repository", "Seen", "Site", "authority", "git_daemon", "proxy", "redirect", "site"]

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "a"), ("EMAIL", "a@example.com"), ("DATE", "1700000000 +0000"))
}
QUIET = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

File = bytes | str | tuple[str, bytes | str]
"""Contents, or a git mode and contents; of mode 160000, a commit id."""


@dataclass
class Repository:
    """A bare repository that tests write straight into, hostile things included."""

    folder: Path
    marks: int = 0

    def __post_init__(self) -> None:
        self.run("init", "--quiet", "--bare", "--template=", "-b", "main", str(self.folder), place=False)
        # As GitHub and GitLab are set up; `plain` undoes it.
        self.run("config", "uploadpack.allowFilter", "true")
        self.run("config", "uploadpack.allowAnySHA1InWant", "true")

    def plain(self) -> Repository:
        """Like a server that neither filters nor serves commits by their id over the old protocol."""
        self.run("config", "--unset", "uploadpack.allowFilter")
        self.run("config", "--unset", "uploadpack.allowAnySHA1InWant")
        return self

    def commit(self, files: Mapping[str, File], *, branch: str = "main") -> str:
        """A commit that holds exactly these files, on top of the branch; its id."""
        out = [f"commit refs/heads/{branch}\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nx\n".encode()]
        if self.has(f"refs/heads/{branch}"):
            out.append(f"from refs/heads/{branch}^0\n".encode())
        out.append(b"deleteall\n")
        for path, file in files.items():
            mode, data = file if isinstance(file, tuple) else ("100644", file)
            body = data.encode() if isinstance(data, str) else data
            if mode == "160000":
                out.append(b"M 160000 " + body + b" " + path.encode() + b"\n")
            else:
                out.append(f"M {mode} inline ".encode() + path.encode() + f"\ndata {len(body)}\n".encode() + body + b"\n")
        self.run("fast-import", "--quiet", "--force", stdin=b"".join(out))
        return self.id(f"refs/heads/{branch}")

    def raw_commit(self, entries: list[tuple[str, str, bytes]], *, branch: str = "main") -> str:
        """Makes a commit of one tree with unchecked entries (mode, name, contents)."""
        tree = b""
        for mode, name, body in entries:
            oid = self.run("hash-object", "-w", "--stdin", stdin=body).strip()
            tree += mode.encode() + b" " + name.encode() + b"\0" + bytes.fromhex(oid)
        top = self.run("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=tree).strip()
        made = self.run("commit-tree", top, "-m", "x").strip()
        self.run("update-ref", f"refs/heads/{branch}", made)
        return made

    def tag(self, name: str, *, annotated: bool = False) -> None:
        self.run("tag", *(["-a", "-m", "x"] if annotated else []), name, "main")

    def has(self, ref: str) -> bool:
        asked = ["git", "--git-dir", str(self.folder), "rev-parse", "--verify", "-q", ref]
        return subprocess.run(asked, env=QUIET, capture_output=True, check=False).returncode == 0

    def id(self, ref: str) -> str:
        return self.run("rev-parse", ref).strip()

    def run(self, *words: str, stdin: bytes = b"", place: bool = True) -> str:
        where = ["--git-dir", str(self.folder)] if place else []
        done = subprocess.run(["git", *where, *words], env={**QUIET, **IDENTITY}, input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


@contextlib.contextmanager
def git_daemon(root: Path) -> Iterator[str]:
    """`git://127.0.0.1:PORT` over every repository below `root`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["git", "daemon", "--export-all", f"--base-path={root}", "--listen=127.0.0.1", f"--port={port}", "--reuseaddr"]
    process = subprocess.Popen(words, env=QUIET, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(10)


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    body: bytes = b""
    """What was sent to a route that is a function."""


@dataclass
class Answer:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    drip: tuple[int, float] | None = None
    """So many bytes, then a pause of so many seconds, and so on."""
    length: int | None = None
    """What Content-Length says, if that is a lie."""


Route = Answer | Callable[[Seen], Answer]


@dataclass
class Site:
    """A web server. Routes are read at each request, so a test may change them between two."""

    port: int
    scheme: str
    routes: dict[str, Route] = field(default_factory=dict)
    log: list[Seen] = field(default_factory=list)
    git_root: Path | None = None
    password: str = ""
    """`user:password` that git wants, if any."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def other(self) -> str:
        """The same server under another name, which makes it another origin."""
        return f"{self.scheme}://localhost:{self.port}"

    def requests(self, path: str) -> list[Seen]:
        return [seen for seen in self.log if seen.path.partition("?")[0] == path]


def redirect(target: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": target})


def authority(folder: Path) -> tuple[trustme.CA, str]:
    """A certificate authority that is not trusted yet, and its certificate file."""
    ca = trustme.CA()
    file = folder / "ca.pem"
    ca.cert_pem.write_to_path(str(file))
    return ca, str(file)


@contextlib.contextmanager
def site(
    routes: dict[str, Route] | None = None,
    *,
    ca: trustme.CA | None = None,
    hosts: Sequence[str] = (),
    git_root: Path | None = None,
    password: str = "",
) -> Iterator[Site]:
    """A web server; with an authority it speaks TLS, also under the names `hosts`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    if ca:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ca.issue_cert("127.0.0.1", "localhost", *hosts).configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    here = Site(
        port=server.server_address[1],
        scheme="https" if ca else "http",
        routes=routes or {},
        git_root=git_root,
        password=password,
    )
    server.site = here  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def proxy(port: int) -> Iterator[str]:
    """An HTTPS proxy whose every tunnel leads to this port of loopback, whatever host is asked for."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Tunnel)
    server.daemon_threads = True
    server.target = port  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Tunnel(socketserver.StreamRequestHandler):
    server: Any  # Any: a server that carries the port its tunnels lead to

    def handle(self) -> None:
        verb = self.rfile.readline().split()[0]
        while self.rfile.readline().strip():
            pass
        if verb != b"CONNECT":
            self.wfile.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.server.target)) as target:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(target, self.connection), daemon=True)
            back.start()
            _pump(self.connection, target)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any  # Any: a server that carries its Site

    def log_message(self, *_words: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        here: Site = self.server.site
        self.close_connection = True
        seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()})
        here.log.append(seen)
        path, _, query = self.path.partition("?")
        route = here.routes.get(self.path) or here.routes.get(path)
        with contextlib.suppress(ConnectionError, BrokenPipeError, ssl.SSLError):
            if (
                route is None
                and here.git_root
                and (".git/" in path or path.partition("?")[0].endswith(("/info/refs", "/git-upload-pack")))
            ):
                self._send(self._git(here, path, query))
            elif route is None:
                self._send(Answer(status=404))
            else:
                if not isinstance(route, Answer):
                    seen.body = self.rfile.read(int(self.headers.get("content-length") or 0))
                self._send(route if isinstance(route, Answer) else route(seen))

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        self.send_header("Connection", "close")
        self.end_headers()
        if not answer.drip:
            self.wfile.write(answer.body)
            return
        size, pause = answer.drip
        for start in range(0, len(answer.body), size):
            self.wfile.write(answer.body[start : start + size])
            self.wfile.flush()
            time.sleep(pause)

    def _git(self, here: Site, path: str, query: str) -> Answer:
        wanted = "Basic " + base64.b64encode(here.password.encode()).decode()
        if here.password and self.headers.get("authorization") != wanted:
            return Answer(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding") == "chunked":
            body = self._chunks()
        environment = {
            **QUIET,
            "GIT_PROJECT_ROOT": str(here.git_root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True, check=False)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200 OK").split()[0])
        return Answer(body=rest, status=status, headers=headers)

    def _chunks(self) -> bytes:
        out = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        return out
