"""A skill to bytes, the same bytes for the same skill on every machine: sorted, one date, no owner, two modes.

Both formats are written here and not by zipfile or tarfile, whose output depends on the Python that runs them. Only
zlib's may: a digest of an archive holds for its bytes, a digest of its contents (`digest`) for ever.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from enum import StrEnum

from metier.spec import Files

from .contents import Contents, Link, Member
from .digest import EXECUTABLE, LINK, PLAIN
from .limits import SKILL_LIMITS

__all__ = ["Format", "pack"]

_DATE = (1 << 5) | 1
"""1980-01-01, the first day a zip knows."""
_UTF8 = 1 << 11
_UNIX = 3 << 8


class Format(StrEnum):
    ZIP = "zip"
    TAR_GZ = "tar.gz"


def pack(files: Files, *, to: Format = Format.ZIP, level: int = 6) -> bytes:
    """The skill as one file. What it holds has passed the same gate that unpacking has; level 0 only stores."""
    contents = files if isinstance(files, Contents) else _gathered(files)
    entries = sorted(_entries(contents), key=lambda entry: entry[0])
    return _zip(entries, level) if to is Format.ZIP else _gzip(_tar(entries), level)


Entry = tuple[bytes, int, bytes]
"""Path, mode as in a file system, bytes."""


def _gathered(files: Files) -> Contents:
    return Contents(
        Member(entry.path, files.read(entry.path, limit=SKILL_LIMITS.file), entry.executable) for entry in files.list()
    )


def _entries(contents: Contents) -> Iterator[Entry]:
    for item in (*contents.members, *contents.links):
        match item:
            case Member(path, data, executable):
                yield path.encode(), int(EXECUTABLE if executable else PLAIN, 8), data
            case Link(path, target):
                yield path.encode(), int(LINK, 8) | 0o777, target.encode()


def _zip(entries: list[Entry], level: int) -> bytes:
    body, directory = bytearray(), bytearray()
    for path, mode, data in entries:
        packed = _deflate(data, level)
        method = 8 if len(packed) < len(data) else 0
        stored = packed if method else data
        flags = 0 if path.isascii() else _UTF8
        shared = struct.pack("<HHHHHIIIHH", 20, flags, method, 0, _DATE, zlib.crc32(data), len(stored), len(data), len(path), 0)
        directory += struct.pack("<IH", 0x02014B50, _UNIX | 20) + shared + struct.pack("<HHHII", 0, 0, 0, mode << 16, len(body))
        directory += path
        body += struct.pack("<I", 0x04034B50) + shared + path + stored
    count = len(entries)
    return bytes(body + directory) + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)


def _deflate(data: bytes, level: int) -> bytes:
    if not level:
        return data
    squeezer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return squeezer.compress(data) + squeezer.flush()


def _tar(entries: list[Entry]) -> bytes:
    out = bytearray()
    for path, mode, data in entries:
        is_link = mode & 0o170000 == 0o120000
        target = data if is_link else b""
        records = b"".join(_pax(key, value) for key, value in ((b"path", path), (b"linkpath", target)) if _needs_pax(value))
        if records:
            out += _tar_header(b"PaxHeader", 0o644, len(records), b"x") + _padded(records)
        body = b"" if is_link else data
        out += _tar_header(path, mode & 0o777, len(body), b"2" if is_link else b"0", target) + _padded(body)
    return bytes(out) + bytes(1024)


def _needs_pax(value: bytes) -> bool:
    return len(value) > 100 or not value.isascii()


def _pax(key: bytes, value: bytes) -> bytes:
    rest = b" " + key + b"=" + value + b"\n"
    size = len(rest)
    # The length counts its own digits.
    while len(str(size)) + len(rest) != size:
        size = len(str(size)) + len(rest)
    return str(size).encode() + rest


def _tar_header(path: bytes, mode: int, size: int, kind: bytes, target: bytes = b"") -> bytes:
    fields = struct.pack(
        "100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x",
        path[:100], b"%07o\0" % mode, b"%07o\0" % 0, b"%07o\0" % 0, b"%011o\0" % size, b"%011o\0" % 0, b" " * 8, kind,
        target[:100], b"ustar\0", b"00", b"", b"", b"%07o\0" % 0, b"%07o\0" % 0, b"",
    )  # fmt: skip
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def _gzip(data: bytes, level: int) -> bytes:
    # No name, no time, "unknown" system: nothing that differs from machine to machine.
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    squeezer = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = squeezer.compress(data) + squeezer.flush()
    return head + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
