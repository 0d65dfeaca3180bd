"""The server that an agent program takes for its model."""

from __future__ import annotations

import socket

import pytest

from metier.evals.agent.proxy import ModelAccess, ModelProxy


@pytest.mark.parametrize(
    "request_text",
    [
        "content-length: 99999999999\r\n\r\n",
        "content-length: -1\r\n\r\n",
        "content-length: many\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\nfffffffff\r\n",
        "transfer-encoding: chunked\r\n\r\n-1\r\n",
        "transfer-encoding: chunked\r\n\r\nmany\r\n",
    ],
)
def test_a_request_without_a_valid_length_is_answered_and_not_read(request_text: str) -> None:
    with (
        ModelProxy(ModelAccess(url=""), skills=(), scope="") as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as client,
    ):
        client.sendall(f"POST /v1/messages HTTP/1.1\r\nhost: x\r\n{request_text}".encode())
        assert client.makefile("rb").readline() == b"HTTP/1.1 400 Bad Request\r\n"
    assert proxy.seen.requests == 0
