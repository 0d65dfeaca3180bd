"""Reads a tar without trusting its extensions.

Extension headers change the next header, and programs differ in which of two sizes or names they use. So each file has one
name and one size, a long name is given once, there are no hard links, sparse files or devices, and only zeros follow the end.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from metier.values import dataclass

from .contents import MAX_LINK_TARGET, Contents, Link, Member
from .limits import ArchiveLimits, archive_error

__all__ = ["gunzip", "untar"]

_BLOCK = 512
_LONGEST_EXTENSION = 16 * 1024
_CHUNK = 1 << 18
_PAX_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=]+)=")
# Headers that affect neither names nor bytes are ignored.
_HARMLESS = re.compile(
    rb"(?:[acm]time|[ug]id|[ug]name|comment|charset|hdrcharset"
    rb"|SCHILY\.(?:xattr\..+|acl\..+|fflags|dev|ino|nlink)|LIBARCHIVE\.(?:xattr\..+|creationtime))"
)
_KINDS = {b"0": "file", b"\0": "file", b"5": "folder", b"2": "link"}
_REFUSED = {
    b"1": "a hard link", b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "a sparse file", b"M": "a part of a file",
    b"D": "a list of a folder", b"V": "the label of a volume", b"7": "a contiguous file",
}  # fmt: skip


@dataclass(slots=True)
class _Extension:
    """The values of extension headers for the next file."""

    path: bytes | None = None
    target: bytes | None = None
    size: int | None = None
    time: bytes | None = None


def gunzip(data: bytes, limits: ArchiveLimits) -> bytes:
    """One gzip member and nothing after it."""
    inflater = zlib.decompressobj(31)
    parts: list[bytes] = []
    size, rest = 0, data
    # Headers and padding come on top of the files themselves.
    most = limits.total + limits.files * 4 * _BLOCK
    try:
        while rest and not inflater.eof:
            part = inflater.decompress(rest, _CHUNK)
            rest = inflater.unconsumed_tail
            size += len(part)
            if size > most:
                limits.check_total(size)
            limits.check_total(min(size, limits.total), len(data))
            parts.append(part)
    except zlib.error as error:
        raise archive_error("gzip", f"the archive cannot be unpacked: {error}") from error
    if not inflater.eof:
        raise archive_error("gzip", "the archive was cut off")
    if inflater.unused_data:
        raise archive_error("gzip", "there are bytes after the end of the archive, which some programs read and some do not")
    return b"".join(parts)


def untar(data: bytes, limits: ArchiveLimits) -> Contents:
    members: list[Member] = []
    links: list[Link] = []
    folders: list[str] = []
    for kind, path, target, body, (mode, time) in _walk(data, limits):
        match kind:
            case "folder":
                if path.rstrip("/") not in ("", "."):
                    folders.append(_plain(path.rstrip("/")))
            case "link":
                links.append(Link(_plain(path), target))
            case _:
                members.append(Member(_plain(path), body, bool(mode & 0o111), time))
        limits.check_count(len(members) + len(links) + len(folders))
    return Contents(members, links, folders=folders, limits=limits)


def _plain(path: str) -> str:
    # `tar c .` writes `./` before every name, and that is the one spelling beside the plain one.
    return path.removeprefix("./")


def _walk(data: bytes, limits: ArchiveLimits) -> Iterator[tuple[str, str, str, bytes, tuple[int, int | None]]]:
    position, said, total = 0, _Extension(), 0
    while True:
        block = data[position : position + _BLOCK]
        if len(block) < _BLOCK:
            raise archive_error("tar", "the archive was cut off")
        if not any(block):
            break
        _check_sum(block)
        _check_unused(block)
        kind, size = block[156:157], _octal(block[124:136])
        begin, position = position + _BLOCK, position + _BLOCK + size + -size % _BLOCK
        if begin + size > len(data):
            raise archive_error("tar", "the archive was cut off")
        if kind in (b"x", b"g", b"L", b"K"):
            _extend(said, kind, _extension(data, begin, size))
            continue
        path = _text(said.path if said.path is not None else _name(block))
        if kind not in _KINDS:
            raise archive_error("special", f"{path!r} is {_REFUSED.get(kind, f'of the unknown kind {kind!r}')}")
        if said.size not in (None, size):
            raise archive_error("tar", f"{path!r} has two sizes")
        what = _KINDS[kind]
        # Old tars mark a folder only by its slash.
        if kind in (b"0", b"\0") and path.endswith("/"):
            what = "folder"
        if what != "file" and size:
            raise archive_error("tar", f"{path!r} is a {what} with bytes of its own")
        limits.check_file(path, size)
        total += size
        limits.check_total(total)
        target = _text(said.target if said.target is not None else _cut(block[157:257])) if what == "link" else ""
        if len(target) > MAX_LINK_TARGET:
            raise archive_error("link", f"{path!r} is a link to something that is no path")
        yield what, path, target, data[begin : begin + size], (_octal(block[100:108]), _time(said, block))
        said = _Extension()
    _check_rest(data, position, said)


def _check_rest(data: bytes, position: int, said: _Extension) -> None:
    if len(data) < position + 2 * _BLOCK or data[position:].strip(b"\0"):
        raise archive_error("tar", "there is something after the end of the archive, or it has no end")
    if said != _Extension():
        raise archive_error("tar", "the last header belongs to no file")


def _check_sum(block: bytes) -> None:
    if sum(block[:148]) + sum(block[156:]) + 8 * 32 != _octal(block[148:156]):
        raise archive_error("tar", "a header's checksum is wrong")


def _check_unused(block: bytes) -> None:
    """Checks mode, owner, time and device: a program that cannot parse them may stop there and see fewer files."""
    for field in (block[100:108], block[108:116], block[116:124], block[136:148], block[329:337], block[337:345]):
        # GNU writes large and negative numbers in binary, marked by one of these.
        if field[0] not in (0x80, 0xFF):
            _octal(field)


def _octal(field: bytes) -> int:
    # Binary sizes (first bit set) begin at 8 GiB.
    text = field.strip(b"\0 ")
    if not re.fullmatch(rb"[0-7]*", text):
        raise archive_error("tar", "a header has a number that is none, or one too large for any skill")
    return int(text or b"0", 8)


def _time(said: _Extension, block: bytes) -> int | None:
    """Returns the time in ns; None for zero, which reproducible archives use."""
    if said.time is not None and (exact := re.fullmatch(rb"([0-9]{1,11})(?:\.([0-9]{0,9})[0-9]*)?", said.time)):
        return int(exact[1]) * 1_000_000_000 + int((exact[2] or b"").ljust(9, b"0")) or None
    field = block[136:148]
    return _octal(field) * 1_000_000_000 or None if field[0] not in (0x80, 0xFF) else None


def _name(block: bytes) -> bytes:
    name = _cut(block[:100])
    # Only POSIX has a prefix there; GNU keeps other things in the same place.
    prefix = _cut(block[345:500]) if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def _cut(field: bytes) -> bytes:
    name, _, rest = field.partition(b"\0")
    if rest.strip(b"\0"):
        raise archive_error("path", f"{field!r} hides something after a NUL")
    return name


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise archive_error("path", f"{name!r} is not UTF-8") from None


def _extension(data: bytes, begin: int, size: int) -> bytes:
    if size > _LONGEST_EXTENSION:
        raise archive_error("tar", "an extension header is larger than any name")
    return data[begin : begin + size]


def _extend(said: _Extension, kind: bytes, body: bytes) -> None:
    gnu = {b"L": b"path", b"K": b"linkpath"}
    records = {gnu[kind]: _cut(body)} if kind in gnu else _records(body)
    for key, value in records.items():
        if kind == b"g" and not _HARMLESS.fullmatch(key):
            raise archive_error("tar", f"a header for all files sets {key.decode('utf-8', 'replace')!r}")
        match key:
            case b"path" if said.path is None and b"\0" not in value:
                said.path = value
            case b"linkpath" if said.target is None and b"\0" not in value:
                said.target = value
            case b"size" if said.size is None and re.fullmatch(rb"[0-9]{1,12}", value):
                said.size = int(value)
            case b"mtime" if kind == b"x":
                said.time = value
            case _ if not _HARMLESS.fullmatch(key):
                raise archive_error(
                    "tar", f"a header sets {key.decode('utf-8', 'replace')!r} twice, badly, or in a way not known here"
                )


def _records(body: bytes) -> dict[bytes, bytes]:
    records: dict[bytes, bytes] = {}
    position = 0
    while position < len(body):
        match = _PAX_RECORD.match(body, position)
        end = position + int(match[1]) if match else 0
        if not match or end > len(body) or end <= match.end() - 1 or body[end - 1 : end] != b"\n":
            raise archive_error("tar", "an extension header is broken")
        if match[2] in records:
            raise archive_error("tar", f"a header sets {match[2].decode('utf-8', 'replace')!r} twice")
        records[match[2]] = body[match.end() : end - 1]
        position = end
    return records
