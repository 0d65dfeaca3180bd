"""Checks that every request passes before its endpoint: no NUL in any text, and no header twice that must be unique.

SQLite stores a NUL and PostgreSQL refuses it, so text with one is refused here for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from metier.errors import UsageError

from .responses import Scope

__all__ = ["check_json_text", "check_request", "check_text", "is_same_origin"]

_UNIQUE = (b"authorization", b"host")
# An escape for NUL that is not itself escaped: `\u0000`, but not `\\u0000`.
_JSON_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def check_request(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Raises UsageError for a NUL in the address or in a header, and for a repeated header."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
        raise _nul("the address")
    if len(headers) != len(scope["headers"]):
        _check_unique(scope["headers"])
    for value in headers.values():
        if b"\0" in value:
            raise _nul("a header")


def check_text(values: Iterable[str], subject: str) -> None:
    for value in values:
        if "\0" in value:
            raise _nul(subject)


def check_json_text(body: bytes) -> None:
    if b"\\u0000" in body and _JSON_NUL.search(body):
        raise _nul("the request body")


def is_same_origin(origin: str, base: str) -> bool:
    """Returns whether an Origin header names the host of this registry."""
    try:
        return bool(origin) and urlsplit(origin).netloc == urlsplit(base).netloc
    except ValueError:
        return False


def _check_unique(headers: Sequence[tuple[bytes, bytes]]) -> None:
    names = [name for name, _ in headers]
    for name in _UNIQUE:
        if names.count(name) > 1:
            raise UsageError(f"the request has more than one {name.decode().title()} header", hint="send it once")


def _nul(subject: str) -> UsageError:
    return UsageError(f"{subject} contains a NUL character", hint="remove it")
