"""Long lists in pages. A cursor is the key that the next page starts after, so that a list may change between two pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

from metier.errors import UsageError

__all__ = ["PAGE", "page"]

PAGE = 250
_MARK = "after "
T = TypeVar("T")


def page(
    items: Sequence[T], cursor: str | None, key: Callable[[T], str], *, size: int = PAGE
) -> tuple[Sequence[T], str | None]:
    """The items after the cursor, which are sorted by their key, and the cursor of the page after that."""
    start = 0
    if cursor is not None:
        last = _decoded(cursor)
        start = next((place for place, item in enumerate(items) if key(item) > last), len(items))
    part = items[start : start + size]
    return part, _encoded(key(part[-1])) if start + size < len(items) else None


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(f"{_MARK}{text}".encode("utf-8", "surrogateescape")).decode("ascii")


def _decoded(cursor: str) -> str:
    try:
        text = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True).decode("utf-8", "surrogateescape")
    except (UnicodeError, binascii.Error):
        text = ""
    if not text.startswith(_MARK):
        raise UsageError(f"{cursor[:80]!r} is not a cursor of this list", hint="start again without one")
    return text.removeprefix(_MARK)
