"""Finds canaries in bytes that left a run, also encoded, compressed, reversed or shifted."""

from __future__ import annotations

import base64
import binascii
import bz2
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from urllib.parse import unquote_to_bytes

from metier.values import dataclass

from .canaries import Canary

__all__ = ["CanaryHit", "find_canaries"]

_MOST_VIEWS, _MOST_BYTES, _DEPTH = 96, 512 * 1024, 4
_WINDOW = 12
"""A part of a value that is as long as this is enough: values are random."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}(?:\s*[A-Za-z0-9+/_-]{4,}={0,2})*")
_BASE32 = re.compile(rb"[A-Z2-7]{24,}={0,6}|[a-z2-7]{24,}={0,6}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}[\s:,]?|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}){12,}")
_NUMBERS = re.compile(rb"(?:\d{2,3}[,;\s]+){11,}\d{2,3}")
_ROT13 = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"NOPQRSTUVWXYZABCDEFGHIJKLMnopqrstuvwxyzabcdefghijklm"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryHit:
    canary: Canary
    form: str
    """Plain, or the steps that were undone, such as `base64, gzip`."""


def find_canaries(data: bytes, canaries: Iterable[Canary]) -> tuple[CanaryHit, ...]:
    """Returns each canary once, in the plainest form that was found."""
    left = {canary.value: canary for canary in canaries}
    found: list[CanaryHit] = []
    for form, view in _views(data[:_MOST_BYTES]):
        for value in [value for value in left if _is_in(value.encode(), view)]:
            found += [CanaryHit(canary=left.pop(value), form=form or "plain")]
        if not left:
            break
    for form, view, shift in _shifted(data[: _MOST_BYTES // 4]):
        for value in [value for value in left if shift(value.encode()[:16]) in view]:
            found += [CanaryHit(canary=left.pop(value), form=form)]
    return tuple(found)


def _is_in(value: bytes, view: bytes) -> bool:
    return any(value[at : at + _WINDOW] in view for at in range(0, len(value) - _WINDOW + 1, _WINDOW))


def _views(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the data and everything that it may be an encoding of, the plainest first."""
    pending, seen = [("", data)], {data}
    for depth in range(_DEPTH):
        following: list[tuple[str, bytes]] = []
        for form, view in pending:
            yield form, view
            for name, inner in _decoded(view) if depth < _DEPTH - 1 else ():
                if len(inner) >= _WINDOW and inner not in seen and len(seen) < _MOST_VIEWS:
                    seen.add(inner)
                    following.append((f"{form}, {name}" if form else name, inner[:_MOST_BYTES]))
        pending = following


def _decoded(view: bytes) -> Iterator[tuple[str, bytes]]:
    if b"%" in view or b"+" in view:
        yield "URL-encoded", unquote_to_bytes(view.replace(b"+", b" "))
    if b"\\u" in view or b"\\n" in view or b"\\x" in view:
        yield (
            "escaped",
            re.sub(rb"\\u00([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), view).replace(b"\\n", b"\n"),
        )
    yield from _unpacked(view)
    for match in _longest(_HEX, view):
        yield "hex", binascii.unhexlify(_even(re.sub(rb"[^0-9a-fA-F]", b"", match[0].replace(b"\\x", b""))))
    for match in _longest(_BASE64, view):
        yield from (("base64", inner) for inner in _base64(match[0]))
    for match in list(_BASE32.finditer(view))[:4]:
        text = match[0].upper().rstrip(b"=")
        yield "base32", base64.b32decode(text[: len(text) // 8 * 8])
    for match in list(_NUMBERS.finditer(view))[:4]:
        yield "numbers", bytes(number for number in map(int, re.findall(rb"\d{2,3}", match[0])) if number < 256)
    yield "reversed", view[::-1]
    yield "rot13", view.translate(_ROT13)
    yield "with separators", re.sub(rb"[^A-Za-z0-9]+", b"", view)


def _longest(pattern: re.Pattern[bytes], view: bytes) -> list[re.Match[bytes]]:
    return sorted(pattern.finditer(view), key=lambda match: -len(match[0]))[:8]


def _base64(text: bytes) -> Iterator[bytes]:
    clean = re.sub(rb"[\s=]", b"", text).replace(b"-", b"+").replace(b"_", b"/")
    for start in range(4):
        part = clean[start:]
        yield base64.b64decode(part[: len(part) // 4 * 4] or b"")


def _unpacked(view: bytes) -> Iterator[tuple[str, bytes]]:
    for magic, bits, name in (
        (b"\x1f\x8b\x08", 31, "gzip"),
        (b"\x78\x9c", 15, "zlib"),
        (b"\x78\xda", 15, "zlib"),
        (b"\x78\x01", 15, "zlib"),
    ):
        at = view.find(magic)
        if at >= 0:
            try:
                yield name, zlib.decompressobj(bits).decompress(view[at:], _MOST_BYTES)
            except zlib.error:
                pass
    at = view.find(b"BZh")
    if at >= 0:
        try:
            yield "bzip2", bz2.BZ2Decompressor().decompress(view[at:], _MOST_BYTES)
        except OSError:
            pass
    at = view.find(b"\xfd7zXZ")
    if at >= 0:
        try:
            yield "xz", lzma.LZMADecompressor().decompress(view[at:], _MOST_BYTES)
        except lzma.LZMAError:
            pass
    at = view.find(b"PK\x03\x04")
    if at >= 0:
        yield from (("zip", inner) for inner in _members_of_zip(view[at:]))
    if view[257:262] == b"ustar":
        yield from (("tar", inner) for inner in _members_of_tar(view))


def _members_of_zip(view: bytes) -> Iterator[bytes]:
    end = view.rfind(b"PK\x05\x06")
    try:
        with zipfile.ZipFile(io.BytesIO(view[: end + 22] if end > 0 else view)) as archive:
            for member in archive.infolist()[:50]:
                with archive.open(member) as file:
                    yield file.read(_MOST_BYTES)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError):
        return


def _members_of_tar(view: bytes) -> Iterator[bytes]:
    try:
        with tarfile.open(fileobj=io.BytesIO(view)) as archive:
            for member in archive.getmembers()[:50]:
                file = archive.extractfile(member) if member.isfile() else None
                if file:
                    yield file.read(_MOST_BYTES)
    except (tarfile.TarError, EOFError, OSError):
        return


def _even(text: bytes) -> bytes:
    return text[: len(text) // 2 * 2]


def _shifted(data: bytes) -> Iterator[tuple[str, bytes, Callable[[bytes], bytes]]]:
    """Yields views in which a value is found whatever one byte was added to, or combined with, each of its bytes."""
    for form, view in (("", data), *((name, inner) for name, inner in _decoded(data) if name in ("base64", "hex"))):
        prefix = f"{form}, " if form else ""
        yield f"{prefix}XOR with one byte", _xor_steps(view), _xor_steps
        yield f"{prefix}shifted bytes", _sum_steps(view), _sum_steps


def _xor_steps(data: bytes) -> bytes:
    return bytes(one ^ two for one, two in pairwise(data))


def _sum_steps(data: bytes) -> bytes:
    return bytes((two - one) & 0xFF for one, two in pairwise(data))
