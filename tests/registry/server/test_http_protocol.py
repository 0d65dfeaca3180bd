"""A client that sends too much, too slowly or not at all, or that does not read, is cut off, and others are not."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from metier.registry.domain.registry import ConnectionLimits
from metier.registry.server.client_address import TrustedProxies
from metier.registry.server.http_protocol import ConnectionGate
from registry.live import LiveServer, live, read_all

GET = b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"


def is_served(server: LiveServer) -> bool:
    return server.ask(GET).startswith(b"HTTP/1.1 200")


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_a_header_line_without_end_is_refused_at_the_limit(tmp_path: Path) -> None:
    with live(tmp_path) as server, server.connect(b"GET / HTTP/1.1\r\nx: ") as connection:
        sent = 0
        with contextlib.suppress(ConnectionError):
            for _ in range(4_096):
                connection.sendall(b"a" * 4_096)
                sent += 4_096
        assert sent < 16 * 1024 * 1024
        assert is_served(server)


@pytest.mark.parametrize(
    "head",
    [
        b"x: " + b"a" * 3_000,
        b"\r\n".join(b"x%d: y" % number for number in range(60)),
        b"cookie: " + b"a" * 2_500,
    ],
)
def test_a_head_over_the_limit_is_a_431(tmp_path: Path, head: bytes) -> None:
    with live(tmp_path, connections=ConnectionLimits(head_bytes=2_000, head_lines=50)) as server:
        answer = server.ask(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n" + head + b"\r\n\r\n")
        assert status(answer) in (431, 0)
        assert is_served(server)


def test_a_large_body_in_one_piece_with_its_head_is_no_large_head(tmp_path: Path) -> None:
    with live(tmp_path, connections=ConnectionLimits(head_bytes=500)) as server:
        body = b'{"reason":"%s"}' % (b"a" * 5_000)
        answer = server.ask(
            b"POST /skills/unknown/report HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
            + body
        )
        assert status(answer) == 400


def test_a_long_address_is_refused_with_its_head(tmp_path: Path) -> None:
    with live(tmp_path) as server:
        answer = server.ask(b"GET /skills/" + b"a" * 60_000 + b" HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        assert status(answer) in (431, 0)


@pytest.mark.parametrize("sent", [b"", b"GET", b"GET / HTTP/1.1\r\nhost: a\r\n", GET[:-2].replace(b"close", b"keep-alive")])
def test_a_request_whose_head_does_not_end_is_cut_off(tmp_path: Path, sent: bytes) -> None:
    with live(tmp_path, connections=ConnectionLimits(head_seconds=0.05)) as server, server.connect(sent) as connection:
        assert status(read_all(connection)) == 408


def test_a_second_request_of_a_connection_has_the_same_deadline(tmp_path: Path) -> None:
    first = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
    with live(tmp_path, connections=ConnectionLimits(head_seconds=0.5)) as server, server.connect(first) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        connection.sendall(b"GET / HT")
        assert b"HTTP/1.1 408" in read_all(connection)


POST = b"POST /login HTTP/1.1\r\nhost: a\r\norigin: http://a\r\ncontent-type: application/x-www-form-urlencoded\r\n"


@pytest.mark.parametrize(
    "sent", [POST + b"content-length: 500\r\n\r\ntok", POST + b"transfer-encoding: chunked\r\n\r\n5\r\ntok"]
)
def test_a_body_that_stalls_is_cut_off(tmp_path: Path, sent: bytes) -> None:
    with live(tmp_path, connections=ConnectionLimits(body_seconds=0.05)) as server, server.connect(sent) as connection:
        assert status(read_all(connection)) == 408
        assert is_served(server)


@pytest.mark.parametrize("tail", [b"0\r\nx: ", b"1;x="])
def test_trailers_and_chunk_extensions_are_limited_like_heads(tmp_path: Path, tail: bytes) -> None:
    with live(tmp_path) as server, server.connect(POST + b"transfer-encoding: chunked\r\n\r\n" + tail) as connection:
        sent = 0
        with contextlib.suppress(ConnectionError):
            for _ in range(4_096):
                connection.sendall(b"a" * 4_096)
                sent += 4_096
        assert sent < 16 * 1024 * 1024


def test_a_refused_upload_is_not_read_to_its_end(tmp_path: Path) -> None:
    head = b"POST /skills HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n"
    with live(tmp_path) as server, server.connect(head) as connection:
        sent = 0
        with contextlib.suppress(ConnectionError):
            for _ in range(1_000):
                connection.sendall(bytes(65_536))
                sent += 65_536
        assert sent < 48 * 1024 * 1024


def test_connections_over_the_limit_of_a_client_are_refused_and_end_with_their_deadline(tmp_path: Path) -> None:
    with (
        live(tmp_path, connections=ConnectionLimits(per_client=20, head_seconds=1.5)) as server,
        contextlib.ExitStack() as open_,
    ):
        held = [open_.enter_context(server.connect(b"GET / HTTP/1.1\r\n")) for _ in range(40)]
        statuses = [status(read_all(connection)) for connection in held]
        assert (statuses.count(408), statuses.count(503) + statuses.count(0)) == (20, 20)
        assert is_served(server)


def test_an_idle_connection_is_closed(tmp_path: Path) -> None:
    first = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
    with live(tmp_path, connections=ConnectionLimits(idle_seconds=1)) as server, server.connect(first) as connection:
        assert read_all(connection).startswith(b"HTTP/1.1 200")


def gate(total: int, per_client: int, *trusted: str) -> ConnectionGate:
    return ConnectionGate(ConnectionLimits(total=total, per_client=per_client), TrustedProxies(trusted))


def test_the_limits_of_one_client_and_of_all_are_counted_apart() -> None:
    one = gate(5, 2)
    assert [one.enter("192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [one.enter(f"192.0.2.{n}") for n in (2, 3, 4, 5)] == [True, True, True, False]
    one.leave("192.0.2.1")
    assert one.enter("192.0.2.1")


def test_a_trusted_proxy_has_only_the_total_limit() -> None:
    one = gate(4, 1, "10.0.0.1")
    assert [one.enter("10.0.0.1") for _ in range(5)] == [True] * 4 + [False]


def test_one_ipv6_network_is_one_client() -> None:
    one = gate(10, 2)
    assert [one.enter(f"2001:db8::{n}") for n in (1, 2, 3)] == [True, True, False]
