"""Archives that lie. Each builder writes what a test asks for, however wrong."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

__all__ = ["TarEntry", "ZipEntry", "deflated", "pax", "tar", "tar_gz", "zip_of"]

SKILL = b"---\nname: a\ndescription: Does it. Use when asked.\n---\n\nDo it.\n"


def deflated(data: bytes) -> bytes:
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeezer.compress(data) + squeezer.flush()


@dataclass(frozen=True)
class ZipEntry:
    """The fields of one entry in the directory, and in its own header if `local` is given."""

    name: str | bytes = "SKILL.md"
    data: bytes = SKILL
    mode: int = 0o100644
    method: int = 8
    flags: int = 1 << 11
    packed: bytes | None = None
    size: int | None = None
    packed_size: int | None = None
    crc: int | None = None
    extra: bytes = b""
    offset: int | None = None
    descriptor: bytes = b""
    local: ZipEntry | None = None
    system: int = 3
    absent: bool = False
    """Only listed: no header, no bytes."""

    @property
    def body(self) -> bytes:
        return self.packed if self.packed is not None else deflated(self.data) if self.method == 8 else self.data

    @property
    def path(self) -> bytes:
        return self.name.encode() if isinstance(self.name, str) else self.name

    def shared(self) -> bytes:
        crc = zlib.crc32(self.data) if self.crc is None else self.crc
        packed = len(self.body) if self.packed_size is None else self.packed_size
        size = len(self.data) if self.size is None else self.size
        return struct.pack(
            "<HHHIIIIHH", 20, self.flags, self.method, 33 << 16, crc, packed, size, len(self.path), len(self.extra)
        )


def zip_of(
    *entries: ZipEntry,
    before: bytes = b"",
    gap: bytes = b"",
    comment: bytes = b"",
    count: int | None = None,
    after: bytes = b"",
    end: bytes = b"",
) -> bytes:
    body, directory = bytearray(before), bytearray()
    for entry in entries:
        offset = len(body) if entry.offset is None else entry.offset
        own = entry.local or entry
        if not entry.absent:
            body += b"PK\3\4" + own.shared() + own.path + own.extra + entry.body + entry.descriptor
        directory += b"PK\1\2" + struct.pack("<H", entry.system << 8 | 20) + entry.shared()
        directory += struct.pack("<HHHII", 0, 0, 0, entry.mode << 16, offset) + entry.path + entry.extra
    body += gap
    number = len(entries) if count is None else count
    tail = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, number, number, len(directory), len(body), len(comment)) + comment
    return bytes(body + directory) + end + tail + after


@dataclass(frozen=True)
class TarEntry:
    name: str | bytes = "SKILL.md"
    data: bytes = SKILL
    kind: bytes = b"0"
    mode: int = 0o644
    target: str = ""
    size: int | None = None
    size_field: bytes | None = None
    magic: bytes = b"ustar\x0000"
    prefix: bytes = b""
    sum_off: int = 0

    def blocks(self) -> bytes:
        size = len(self.data) if self.size is None else self.size
        name = self.name.encode() if isinstance(self.name, str) else self.name
        head = struct.pack(
            "100s8s8s8s12s12s8s1s100s8s32s32s8s8s155s12x",
            name,
            b"%07o\0" % self.mode,
            b"%07o\0" % 0,
            b"%07o\0" % 0,
            self.size_field or b"%011o\0" % size,
            b"%011o\0" % 0,
            b" " * 8,
            self.kind,
            self.target.encode(),
            self.magic,
            b"",
            b"",
            b"",
            b"",
            self.prefix,
        )
        head = head[:148] + b"%06o\0 " % (sum(head) + self.sum_off) + head[156:]
        return head + self.data + bytes(-len(self.data) % 512)


def pax(*records: tuple[str, str], kind: bytes = b"x") -> TarEntry:
    body = b""
    for key, value in records:
        rest = f" {key}={value}\n".encode()
        size = len(rest) + len(str(len(rest) + 2))
        size = len(rest) + len(str(size))
        body += str(size).encode() + rest
    return TarEntry(name="PaxHeader", data=body, kind=kind)


def tar(*entries: TarEntry, end: bytes = bytes(1024)) -> bytes:
    return b"".join(entry.blocks() for entry in entries) + end


def tar_gz(*entries: TarEntry, end: bytes = bytes(1024)) -> bytes:
    return gzip.compress(tar(*entries, end=end), mtime=0)


def many(names: Iterable[str]) -> tuple[ZipEntry, ...]:
    return tuple(replace(ZipEntry(), name=name) for name in names)
