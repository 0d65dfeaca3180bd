"""Packs a skill to the same bytes on every machine: sorted, one date, no owner, two modes.

With `times`, and only then, files keep their own dates.

Both formats are written here and not by zipfile or tarfile, whose output depends on the Python that runs them. Only
zlib's may: a digest of an archive holds for its bytes, a digest of its contents (`digest`) for ever.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from enum import StrEnum

from metier.spec import Files

from .contents import Contents, Link, Member, read_contents
from .digest import EXECUTABLE, LINK, PLAIN

__all__ = ["ArchiveFormat", "pack"]

_DATE = (1 << 5) | 1
"""1980-01-01, the first day that a zip can store."""
_TIMESTAMP = 0x5455
_UTF8 = 1 << 11
_UNIX = 3 << 8


class ArchiveFormat(StrEnum):
    ZIP = "zip"
    TAR_GZ = "tar.gz"


def pack(files: Files, *, to: ArchiveFormat = ArchiveFormat.ZIP, level: int = 6, times: bool = False) -> bytes:
    """Returns the skill as one file. Its contents pass the same checks as unpacked ones; level 0 only stores."""
    contents = files if isinstance(files, Contents) else read_contents(files)
    entries = sorted(_entries(contents, times), key=lambda entry: entry[0])
    return _zip(entries, level) if to is ArchiveFormat.ZIP else _gzip(_tar(entries), level)


Entry = tuple[bytes, int, bytes, int]
"""Path, mode as in a file system, bytes, seconds since 1970 or 0."""


def _entries(contents: Contents, times: bool) -> Iterator[Entry]:
    for item in (*contents.members, *contents.links):
        match item:
            case Member(path, data, executable, time):
                # The formats cannot store times before 1970 or, in a zip, after 2038.
                seconds = (time or 0) // 1_000_000_000 if times else 0
                yield path.encode(), int(EXECUTABLE if executable else PLAIN, 8), data, seconds if 0 < seconds < 1 << 31 else 0
            case Link(path, target):
                yield path.encode(), int(LINK, 8) | 0o777, target.encode(), 0


def _zip(entries: list[Entry], level: int) -> bytes:
    body, directory = bytearray(), bytearray()
    for path, mode, data, seconds in entries:
        packed = _deflate(data, level)
        method = 8 if len(packed) < len(data) else 0
        stored = packed if method else data
        flags = 0 if path.isascii() else _UTF8
        extra = struct.pack("<HHBI", _TIMESTAMP, 5, 1, seconds) if seconds else b""
        sizes = zlib.crc32(data), len(stored), len(data), len(path), len(extra)
        shared = struct.pack("<HHHHHIIIHH", 20, flags, method, 0, _DATE, *sizes)
        directory += struct.pack("<IH", 0x02014B50, _UNIX | 20) + shared + struct.pack("<HHHII", 0, 0, 0, mode << 16, len(body))
        directory += path + extra
        body += struct.pack("<I", 0x04034B50) + shared + path + extra + stored
    count = len(entries)
    return bytes(body + directory) + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)


def _deflate(data: bytes, level: int) -> bytes:
    if not level:
        return data
    squeezer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return squeezer.compress(data) + squeezer.flush()


def _tar(entries: list[Entry]) -> bytes:
    out = bytearray()
    for path, mode, data, seconds in entries:
        is_link = mode & 0o170000 == 0o120000
        target = data if is_link else b""
        records = b"".join(_pax(key, value) for key, value in ((b"path", path), (b"linkpath", target)) if _needs_pax(value))
        if records:
            out += _tar_header(b"PaxHeader", 0o644, len(records), b"x") + _pad(records)
        body = b"" if is_link else data
        out += _tar_header(path, mode & 0o777, len(body), b"2" if is_link else b"0", target, seconds) + _pad(body)
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


def _tar_header(path: bytes, mode: int, size: int, kind: bytes, target: bytes = b"", time: int = 0) -> bytes:
    fields = struct.pack(
        "100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x",
        path[:100], b"%07o\0" % mode, b"%07o\0" % 0, b"%07o\0" % 0, b"%011o\0" % size, b"%011o\0" % time, b" " * 8, kind,
        target[:100], b"ustar\0", b"00", b"", b"", b"%07o\0" % 0, b"%07o\0" % 0, b"",
    )  # fmt: skip
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def _store(data: bytes) -> bytes:
    """Returns the data as deflate blocks without compression, which are the same with every zlib."""
    out = bytearray()
    for start in range(0, len(data) or 1, 65_535):
        piece = data[start : start + 65_535]
        out += struct.pack("<BHH", start + 65_535 >= len(data), len(piece), len(piece) ^ 0xFFFF) + piece
    return bytes(out)


def _gzip(data: bytes, level: int) -> bytes:
    # No name, no time, "unknown" system: nothing that differs from machine to machine.
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    body = _deflate(data, level) if level else _store(data)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
