"""An HTTPS or HTTP server on loopback that answers with the request it got, for scripts to talk to."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

__all__ = ["ApiServer", "serving", "trusted_authority"]


class ApiServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.seen: list[dict[str, object]] = []

    @property
    def host(self) -> str:
        return f"localhost:{self.server_port}"

    def header(self, name: str) -> list[str]:
        """Returns the values of a header in all requests so far."""
        found = []
        for request in self.seen:
            headers = request["headers"]
            assert isinstance(headers, dict)
            found += [value for key, value in headers.items() if key.lower() == name.lower()]
        return found

    def handle_error(self, request: object, client_address: object) -> None:
        """Broken connections are part of the tests."""


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ApiServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().strip(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            self._answer(b"".join(parts))
        else:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        if self.headers.get("Upgrade"):
            self._echo_upgraded()
            return
        request = {"method": self.command, "path": self.path, "headers": dict(self.headers), "size": len(body)}
        self.server.seen.append({**request, "body": body.decode("latin-1")})
        status = 200
        if self.path.startswith("/redirect?"):
            status = 302
        shown = json.dumps({"path": self.path, "size": len(body)}).encode()
        if self.path.startswith("/large/"):
            shown = b"x" * int(self.path.rpartition("/")[2])
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.path.partition("?")[2])
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in (b"one ", b"two ", b"three"):
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(shown)))
        self.end_headers()
        self.wfile.write(shown)

    def _echo_upgraded(self) -> None:
        self.server.seen.append({"method": "UPGRADE", "headers": dict(self.headers)})
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
        self.wfile.flush()
        while data := self.rfile.readline():
            self.wfile.write(data.upper())
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keeps the output of the tests clean."""


def trusted_authority(folder: Path) -> tuple[trustme.CA, str]:
    """Returns an authority, and the path of the bundle that trusts it: for SSL_CERT_FILE."""
    authority = trustme.CA()
    path = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    return authority, str(path)


@contextmanager
def serving(authority: trustme.CA | None = None, *names: str) -> Iterator[ApiServer]:
    """Serves over TLS with a certificate of the authority, else in clear."""
    server = ApiServer()
    if authority:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*(names or ("localhost", "127.0.0.1"))).configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
