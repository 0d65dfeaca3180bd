"""Reads a zip, and accounts for every byte of it.

A zip describes each file twice, in a header before the file and in a directory at the end, and programs differ in which they
use. An archive could show a reviewer one thing and an installer another. So both descriptions must agree, the files must fill
the space before the directory without gap or overlap, and features that no skill needs (encryption, several disks, zip64) are
refused.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime

from metier.values import dataclass

from .contents import MAX_LINK_TARGET, Contents, Link, Member
from .limits import ArchiveLimits, archive_error

__all__ = ["unzip"]

_END, _DIRECTORY, _LOCAL, _DESCRIPTOR = b"PK\5\6", b"PK\1\2", b"PK\3\4", b"PK\7\x08"
_ENCRYPTED = 1 | 1 << 6 | 1 << 13
_HAS_DESCRIPTOR = 1 << 3
_UTF8 = 1 << 11
_PATCH = 1 << 5
_ZIP64, _UNICODE_PATH, _TIMESTAMP = 0x0001, 0x7075, 0x5455
_NO_DAY = (1 << 5) | 1
_NEWEST = 63
"""The newest version of the format that is read, in tenths."""
_MODES = {0: "file", 0o100000: "file", 0o040000: "folder", 0o120000: "link"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _DirectoryEntry:
    """One entry of the directory."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    offset: int
    time: int | None
    """In ns since 1970."""

    @property
    def path(self) -> str:
        return self.name.decode()

    @property
    def kind(self) -> str:
        if self.name.endswith(b"/"):
            return "folder"
        return _MODES[self.mode & 0o170000]


def unzip(data: bytes, limits: ArchiveLimits) -> Contents:
    listed = list(_directory(data, limits))
    limits.check_total(sum(one.size for one in listed), len(data))
    members: list[Member] = []
    links: list[Link] = []
    folders: list[str] = []
    for one, packed in zip(listed, _bodies(data, listed), strict=True):
        body = _inflate(one, packed)
        match one.kind:
            case "folder":
                folders.append(one.path.rstrip("/"))
            case "link":
                links.append(Link(one.path, _target(one, body)))
            case _:
                members.append(Member(one.path, body, bool(one.mode & 0o111), one.time))
    return Contents(members, links, folders=folders, limits=limits)


def _directory(data: bytes, limits: ArchiveLimits) -> Iterator[_DirectoryEntry]:
    start, size, count = _end(data)
    if start + size > len(data):
        raise archive_error("zip-lies", "the zip's directory is not where its end says")
    limits.check_count(count)
    position = start
    for _ in range(count):
        if data[position : position + 4] != _DIRECTORY or position + 46 > start + size:
            raise archive_error("zip-lies", "the zip's directory is broken")
        (system, needed, flags, method, stamp, crc, packed, plain, name, extra, comment, disk, _, attributes, offset) = (
            struct.unpack_from("<HHHHIIIIHHHHHII", data, position + 4)
        )
        fields = position + 46
        after = fields + name + extra + comment
        if after > start + size or disk:
            raise archive_error("zip-lies", "the zip's directory is broken")
        if needed & 0xFF > _NEWEST:
            raise archive_error("method", f"the zip needs a reader of version {needed & 0xFF}")
        # Only a Unix zip has modes; elsewhere those bits mean other things.
        mode = attributes >> 16 if system >> 8 == 3 else 0
        more = data[fields + name : fields + name + extra]
        one = _DirectoryEntry(name=data[fields : fields + name], flags=flags, method=method, crc=crc, packed=packed, size=plain,
                      mode=mode, offset=offset, time=_time(stamp, more))  # fmt: skip
        _check(one, more, limits)
        yield one
        position = after
    if position != start + size:
        raise archive_error("zip-lies", "the zip's directory holds more than it says")


def _end(data: bytes) -> tuple[int, int, int]:
    """Returns the start of the directory, its size and its number of entries."""
    end = data.rfind(_END, max(0, len(data) - 22 - 0xFFFF))
    if end < 0 or end + 22 > len(data):
        raise archive_error("zip-lies", "the zip has no end; it may have been cut off")
    disk, first_disk, here, count, size, start, comment = struct.unpack_from("<HHHHIIH", data, end + 4)
    if disk or first_disk or here != count:
        raise archive_error("zip-lies", "the zip is spread over several disks")
    if end + 22 + comment != len(data):
        raise archive_error("zip-lies", "there are bytes after the end of the zip")
    if count == 0xFFFF or 0xFFFFFFFF in (size, start) or data[max(0, end - 20) : end][:4] == b"PK\6\7":
        raise archive_error("zip64", "a zip64 archive is for sizes that no skill has")
    if start + size != end:
        raise archive_error("zip-lies", "the zip's directory is not where its end says")
    return start, size, count


def _check(one: _DirectoryEntry, extra: bytes, limits: ArchiveLimits) -> None:
    try:
        shown = repr(one.path)
    except UnicodeDecodeError:
        raise archive_error("path", f"{one.name!r} is not UTF-8") from None
    if one.flags & _ENCRYPTED:
        raise archive_error("encrypted", f"{shown} is encrypted")
    if one.flags & _PATCH or one.method not in (0, 8):
        raise archive_error("method", f"{shown} is packed by method {one.method}; only store and deflate are read")
    if 0xFFFFFFFF in (one.packed, one.size, one.offset):
        raise archive_error("zip64", f"{shown} is a zip64 entry, which no skill needs")
    if one.mode & 0o170000 not in _MODES:
        raise archive_error("special", f"{shown} is a device, pipe or socket")
    if one.kind == "folder" and (one.size or one.mode & 0o170000 not in (0, 0o040000)):
        raise archive_error("zip-lies", f"{shown} is a folder with bytes of its own")
    if one.mode & 0o170000 == 0o040000 and not one.name.endswith(b"/"):
        raise archive_error("zip-lies", f"{shown} says that it is a folder and is named like a file")
    _check_extra(extra, one.name, shown)
    limits.check_file(one.path, one.size)
    if one.method == 0 and one.size != one.packed:
        raise archive_error("zip-lies", f"{shown} is stored in another size than it has")


def _time(stamp: int, extra: bytes) -> int | None:
    """Returns the exact time if a Unix program stored one, else the local time of the author, read as UTC."""
    position = 0
    while position + 9 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, position)
        if kind == _TIMESTAMP and size >= 5 and extra[position + 4] & 1:
            return int(struct.unpack_from("<I", extra, position + 5)[0]) * 1_000_000_000
        position += 4 + size
    day, clock = stamp >> 16, stamp & 0xFFFF
    if day <= _NO_DAY:
        # Reproducible archives use the first day that a zip can store.
        return None
    try:
        when = datetime(1980 + (day >> 9), day >> 5 & 15, day & 31, clock >> 11, clock >> 5 & 63, (clock & 31) * 2, tzinfo=UTC)
    except ValueError:
        return None
    return int(when.timestamp()) * 1_000_000_000


def _check_extra(extra: bytes, name: bytes, shown: str) -> None:
    position = 0
    while position + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, position)
        body = extra[position + 4 : position + 4 + size]
        if kind == _ZIP64:
            raise archive_error("zip64", f"{shown} is a zip64 entry, which no skill needs")
        if kind == _UNICODE_PATH and body[5:] != name:
            raise archive_error("zip-lies", f"{shown} has a second, other name")
        position += 4 + size
    # Some writers pad with a few zeros; anything else is a record that was cut.
    if extra[min(position, len(extra)) :].strip(b"\0") or position > len(extra):
        raise archive_error("zip-lies", f"{shown} has a broken extra field")


def _bodies(data: bytes, listed: list[_DirectoryEntry]) -> list[bytes]:
    """Returns the packed bytes of each entry. With their headers they must fill the zip up to the directory."""
    start, _, _ = _end(data)
    order = sorted(range(len(listed)), key=lambda index: listed[index].offset)
    bodies: dict[int, bytes] = {}
    position = 0
    for place, index in enumerate(order):
        one = listed[index]
        if one.offset != position:
            raise archive_error("zip-lies", f"{one.path!r} overlaps another file, or there are bytes that belong to none")
        following = listed[order[place + 1]].offset if place + 1 < len(order) else start
        body, position = _body(data, one, following)
        bodies[index] = body
    if position != start:
        raise archive_error("zip-lies", "there are bytes before the zip's directory that belong to no file")
    return [bodies[index] for index in range(len(listed))]


def _body(data: bytes, one: _DirectoryEntry, following: int) -> tuple[bytes, int]:
    fields = one.offset + 30
    if data[one.offset : one.offset + 4] != _LOCAL or fields > len(data):
        raise archive_error("zip-lies", f"{one.path!r} has no header")
    (_, flags, method, _, crc, packed, size, name, extra) = struct.unpack_from("<HHHIIIIHH", data, one.offset + 4)
    begin = fields + name + extra
    end = begin + one.packed
    if end > following:
        raise archive_error("zip-lies", f"{one.path!r} overlaps another file")
    said = (flags, method, data[fields : fields + name])
    if said != (one.flags, one.method, one.name):
        raise archive_error("zip-lies", f"{one.path!r} is called or packed otherwise in its own header")
    _check_extra(data[fields + name : begin], one.name, repr(one.path))
    figures = (one.crc, one.packed, one.size)
    if flags & _HAS_DESCRIPTOR:
        # The sizes follow the bytes; in the header they are zero or the same.
        if any(mine not in (0, theirs) for mine, theirs in zip((crc, packed, size), figures, strict=True)):
            raise archive_error("zip-lies", f"{one.path!r} has other sizes in its own header")
        tail = data[end:following]
        if tail not in (struct.pack("<III", *figures), _DESCRIPTOR + struct.pack("<III", *figures)):
            raise archive_error("zip-lies", f"{one.path!r} has other sizes after its bytes")
        return data[begin:end], following
    if (crc, packed, size) != figures:
        raise archive_error("zip-lies", f"{one.path!r} has other sizes in its own header")
    return data[begin:end], end


def _inflate(one: _DirectoryEntry, packed: bytes) -> bytes:
    data = packed
    if one.method == 8:
        inflater = zlib.decompressobj(-15)
        try:
            data = inflater.decompress(packed, one.size + 1)
        except zlib.error as error:
            raise archive_error("zip-lies", f"{one.path!r} cannot be unpacked: {error}") from error
        if len(data) != one.size or not inflater.eof or inflater.unused_data:
            raise archive_error("zip-lies", f"{one.path!r} unpacks to another size than it says")
    if zlib.crc32(data) != one.crc:
        raise archive_error("zip-lies", f"{one.path!r} is damaged: its checksum is wrong")
    return data


def _target(one: _DirectoryEntry, body: bytes) -> str:
    try:
        if len(body) <= MAX_LINK_TARGET:
            return body.decode()
    except UnicodeDecodeError:
        pass
    raise archive_error("link", f"{one.path!r} is a link whose target is not a path")
