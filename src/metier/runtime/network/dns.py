"""Answers name queries inside a run. Granted names are at 127.0.0.1, where the proxy listens; other names do not exist.

No query leaves the machine: the proxy resolves a granted name itself when a connection to it is made.
"""

from __future__ import annotations

import struct

__all__ = ["answer", "question_name"]

_A, _IN, _ANY = 1, 1, 255
_RESPONSE, _NO_SUCH_NAME, _BAD = 0x8180, 3, 1
_SECONDS = 60
_LONGEST = 512


def question_name(query: bytes) -> tuple[str, int, int] | None:
    """Returns the name, the type and the end of the only question; None if the query has another shape."""
    if not 12 < len(query) <= _LONGEST or struct.unpack("!H", query[4:6])[0] != 1 or query[2] & 0xF8:
        return None
    labels, at = [], 12
    while at < len(query) and query[at]:
        length = query[at]
        if length > 63 or at + 1 + length > len(query):
            return None
        labels.append(query[at + 1 : at + 1 + length].decode("latin-1"))
        at += 1 + length
    if at + 5 > len(query):
        return None
    kind, of_class = struct.unpack("!HH", query[at + 1 : at + 5])
    return (".".join(labels).lower(), kind, at + 5) if of_class in (_IN, _ANY) else None


def answer(query: bytes, *, granted: bool, address: bytes = bytes([127, 0, 0, 1])) -> bytes:
    """Returns the reply: the address for a granted name, no data for another type of it, and NXDOMAIN for other names."""
    asked = question_name(query)
    if asked is None:
        return query[:2] + struct.pack("!HHHHH", _RESPONSE | _BAD, 0, 0, 0, 0)
    _, kind, end = asked
    has_address = granted and kind in (_A, _ANY)
    flags = _RESPONSE if granted else _RESPONSE | _NO_SUCH_NAME
    head = query[:2] + struct.pack("!HHHHH", flags, 1, int(has_address), 0, 0)
    record = b"\xc0\x0c" + struct.pack("!HHIH", _A, _IN, _SECONDS, 4) + address
    return head + query[12:end] + (record if has_address else b"")
