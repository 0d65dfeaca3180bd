"""Archives are sent in pieces: what a client does not read stays on the disk, and a damaged one is never complete."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
from pathlib import Path

import pytest

from guards import eventually
from metier.registry.domain.registry import ConnectionLimits, RequestRates
from registry.asgi import RawRequest, send_raw
from registry.builders import Site, archive, site
from registry.live import live, read_all
from registry.server_process import ServerProcess, serve

SIZE = 6_000_000


def large(name: str = "large", *, size: int = SIZE) -> bytes:
    """An archive that does not get smaller by packing."""
    return archive(name, "1.0.0", files={"assets/noise.bin": b"\0" + random.Random(1).randbytes(size)})


def publish(here: Site, data: bytes) -> None:
    assert here.post("/skills?visibility=public", token=here.admin, content=data).status_code == 201


@pytest.mark.parametrize("path", ["/skills/large/1.0.0.zip", "/skills/large/download"])
def test_a_large_archive_is_sent_in_small_pieces_and_whole(tmp_path: Path, path: str) -> None:
    with site(tmp_path) as here:
        publish(here, large())
        about = here.get("/skills/large").json()
        answer = here.call(send_raw, here.app, RawRequest("GET", path))
        assert (answer.status, len(answer.body), answer.headers["content-length"]) == (200, about["size"], str(about["size"]))
        assert max(answer.chunks) <= 128 * 1024
        head = here.call(send_raw, here.app, RawRequest("HEAD", path))
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(about["size"]))
        again = here.call(send_raw, here.app, RawRequest("GET", path, "", [("if-none-match", answer.headers["etag"])]))
        assert (again.status, again.body) == (304, b"")


def test_every_large_body_is_sent_in_pieces(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        publish(here, large(size=700_000))
        for path in ("/skills/large/1.0.0.zip", "/skills/large/files/assets/noise.bin"):
            answer = here.call(send_raw, here.app, RawRequest("GET", path))
            assert len(answer.body) > 700_000
            assert max(answer.chunks) <= 64 * 1024


def test_a_damaged_large_archive_never_arrives_whole(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        publish(here, large())
        name = here.get("/skills/large").json()["archive_digest"].removeprefix("sha256:")
        file = tmp_path / "blobs" / "sha256" / name[:2] / name[2:4] / name
        data = bytearray(file.read_bytes())
        data[3_000_000] ^= 1
        file.chmod(0o600)
        file.write_bytes(data)
        with pytest.raises(Exception, match="damaged"):
            here.call(send_raw, here.app, RawRequest("GET", "/skills/large/1.0.0.zip"))
        file.unlink()
        assert here.get("/skills/large/1.0.0.zip").status_code == 503


def rss(process: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) * 1024


def waiting(url: str, path: str) -> socket.socket:
    """A client that has asked, and does not read."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((host, int(port)))
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
    return connection


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
def test_clients_that_do_not_read_cost_little_memory(tmp_path: Path) -> None:
    def ask(server: ServerProcess, count: int, path: str) -> int:
        with contextlib.ExitStack() as stack:
            for connection in [stack.enter_context(waiting(server.url, path)) for _ in range(count)]:
                assert connection.recv(12) == b"HTTP/1.1 200"
            return rss(server.process.pid)

    with serve(tmp_path) as server:
        server.publish(large())
        before = ask(server, 1, "/skills/large/1.0.0.zip")
        after = ask(server, 40, "/skills/large/1.0.0.zip")
        assert after - before < 40 * SIZE / 4


def test_a_client_that_does_not_read_is_cut_off(tmp_path: Path) -> None:
    with live(tmp_path, connections=ConnectionLimits(write_seconds=0.1), rates=RequestRates(write=(0, 0))) as server:
        token = server.admin_token()
        data = large()
        head = f"POST /skills?visibility=public HTTP/1.1\r\nhost: a\r\nconnection: close\r\nauthorization: Bearer {token}\r\n"
        assert server.ask(head.encode() + b"content-length: %d\r\n\r\n" % len(data) + data).startswith(b"HTTP/1.1 201")
        get = b"GET /skills/large/1.0.0.zip HTTP/1.1\r\nhost: a\r\n\r\n"
        with server.connect(get, receive_buffer=4096) as connection:
            assert connection.recv(12) == b"HTTP/1.1 200"
            eventually(server.is_idle, "the server closes the connection")
            assert len(read_all(connection)) < SIZE
