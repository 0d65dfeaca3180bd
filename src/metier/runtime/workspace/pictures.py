"""Width and height of a picture, from the first bytes of its file."""

from __future__ import annotations

import re
import struct

__all__ = ["picture_size"]

_NO_SIZE = frozenset({0xC4, 0xC8, 0xCC})
_SVG = re.compile(rb"<svg\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""\b(width|height|viewBox)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_LENGTH = re.compile(rb"\s*([0-9]*\.?[0-9]+)\s*(?:px)?\s*")


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Returns the size of a PNG, JPEG, GIF, WebP or SVG picture; None for anything else, or if the data is broken."""
    try:
        return _png(data) or _gif(data) or _jpeg(data) or _webp(data) or _svg(data)
    except (struct.error, IndexError, ValueError, OverflowError):
        return None


def _png(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int] | None:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\xff\xd8"):
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF or 0xD0 <= marker <= 0xD9 or marker == 0x01:
            at += 1 if marker == 0xFF else 2
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    return None


def _svg(data: bytes) -> tuple[int, int] | None:
    tag = _SVG.search(data[:4096])
    if not tag:
        return None
    found = {name.lower(): value for name, value in _ATTRIBUTE.findall(tag[0])}
    sides = [_LENGTH.fullmatch(found.get(name, b"")) for name in (b"width", b"height")]
    if sides[0] and sides[1]:
        return round(float(sides[0][1])), round(float(sides[1][1]))
    box = found.get(b"viewbox", b"").replace(b",", b" ").split()
    return (round(float(box[2])), round(float(box[3]))) if len(box) == 4 else None
