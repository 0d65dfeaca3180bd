"""Answers to name queries inside a run."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from metier.runtime.network.dns import answer, question_name


def query(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!HHHHHH", 77, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def test_a_granted_name_is_at_the_proxy() -> None:
    reply = answer(query("api.example.com"), granted=True)
    assert reply[:2] == struct.pack("!H", 77)
    assert reply[3] & 15 == 0
    assert reply[-4:] == bytes([127, 0, 0, 1])


def test_a_granted_name_has_no_other_records_and_other_names_do_not_exist() -> None:
    assert answer(query("api.example.com", kind=28), granted=True)[6:8] == b"\0\0"
    refused = answer(query("other.example"), granted=False)
    assert (refused[3] & 15, refused[6:8]) == (3, b"\0\0")


def test_the_name_of_a_query_is_read_in_lower_case() -> None:
    assert question_name(query("API.Example.com", 28)) == ("api.example.com", 28, 33)


@given(st.binary(max_size=600))
def test_any_bytes_get_a_short_answer(data: bytes) -> None:
    assert len(answer(data, granted=False)) <= 600
