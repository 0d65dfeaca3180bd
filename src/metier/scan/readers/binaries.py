"""Binary files: the kind of program or archive, and the text in the metadata of images."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping

__all__ = ["archive_kind", "image_texts", "is_image", "program_kind"]

_PROGRAMS = {
    b"\x7fELF": "a Linux program",
    b"MZ": "a Windows program",
    b"\xcf\xfa\xed\xfe": "a macOS program",
    b"\xca\xfe\xba\xbe": "a macOS program or Java class",
    b"\xce\xfa\xed\xfe": "a macOS program",
    b"\0asm": "a WebAssembly program",
}
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"Rar!": "a rar archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
}
_PNG = b"\x89PNG\r\n\x1a\n"


def program_kind(data: bytes) -> str:
    """Returns the kind of program, such as `a Linux program`; empty for other data."""
    return _kind(data, _PROGRAMS)


def archive_kind(data: bytes) -> str:
    """Returns the kind of archive, such as `a zip archive`; empty for other data."""
    return _kind(data, _ARCHIVES)


def _kind(data: bytes, kinds: Mapping[bytes, str]) -> str:
    return next((name for magic, name in kinds.items() if data.startswith(magic)), "")


def is_image(data: bytes) -> bool:
    return data.startswith((_PNG, b"\xff\xd8", b"GIF8", b"RIFF"))


def image_texts(data: bytes) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each metadata field of a PNG, JPEG, GIF or WebP file."""
    if data.startswith(_PNG):
        yield from _png(data)
    elif data.startswith(b"\xff\xd8"):
        yield from _jpeg(data)
    elif data.startswith((b"GIF8", b"RIFF")):
        at = data.find(b"!\xfe") if data.startswith(b"GIF8") else max(data.find(b"EXIF"), data.find(b"XMP "))
        if at >= 0:
            yield "comment", data[at : at + 8_192].decode("utf-8", "replace")


def _png(data: bytes) -> Iterator[tuple[str, str]]:
    at = 8
    while at + 12 <= len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + min(size, 65_536)]
        if kind in (b"tEXt", b"iTXt", b"zTXt", b"eXIf"):
            key, _, rest = body.partition(b"\0")
            packed = (
                rest[1:] if kind == b"zTXt" else rest[4:].split(b"\0", 1)[-1] if kind == b"iTXt" and rest[:1] == b"\1" else b""
            )
            yield kind.decode(), f"{key.decode('latin-1')} {(_inflate(packed) or rest).decode('utf-8', 'replace')}"
        at += 12 + size


def _inflate(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, 65_536)
    except zlib.error:
        return b""


def _jpeg(data: bytes) -> Iterator[tuple[str, str]]:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] in (0xFE, 0xE1, 0xED):
            yield (
                "comment" if data[at + 1] == 0xFE else "EXIF",
                data[at + 4 : at + 2 + min(size, 65_536)].decode("utf-8", "replace"),
            )
        at += 2 + max(size, 2)
