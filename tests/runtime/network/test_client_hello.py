"""The server name in the first bytes of TLS."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.runtime.network.client_hello import IncompleteHello, is_tls, server_name


def hello(name: str | None) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    link = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        link.do_handshake()
    return outgoing.read()


def test_the_name_of_a_real_client_is_read() -> None:
    data = hello("api.example.com")
    assert is_tls(data)
    assert server_name(data) == "api.example.com"


def test_a_client_without_a_name_has_none() -> None:
    assert server_name(hello(None)) == ""


def test_a_part_asks_for_more() -> None:
    data = hello("api.example.com")
    for size in (0, 1, 5, 60, len(data) - 1):
        with pytest.raises(IncompleteHello):
            server_name(data[:size])


def test_a_hello_in_several_records_is_joined() -> None:
    data = hello("api.example.com")
    body = data[5:]
    cut = len(body) // 2
    split = b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in (body[:cut], body[cut:]))
    assert server_name(split) == "api.example.com"


@given(st.binary(max_size=300))
def test_any_other_bytes_are_refused_or_incomplete(data: bytes) -> None:
    try:
        server_name(b"\x16\x03\x01" + data)
    except (ValueError, IncompleteHello):
        pass
