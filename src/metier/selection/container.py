"""Named arrays in one run of bytes, opened without copying.

The same layout holds a saved index and the data that ships with the package: a short header, then every array
at a multiple of 64 bytes, so that processes can memory-map the file and share its pages. The checksum is a
sum of 64-bit words. It takes milliseconds where a CRC takes the whole loading time, and it detects accidents
(a truncated file, a partial write, a flipped bit), but no attacker.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from metier.errors import MetierError

from .arrays import Array

__all__ = ["CorruptIndexError", "pack", "unpack"]

_MAGIC = b"metier\x00\x01"
_HEAD = struct.Struct("<8sIIQQ")  # magic, format version, length of the directory, length in all, checksum
_ALIGN = 64


class CorruptIndexError(MetierError, ValueError):
    """The bytes are not an index that this version can read. Building it again always helps."""

    code = "corrupt-index"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the selection index cannot be used: {reason}", hint="build the index again")


def pack(arrays: Mapping[str, Array], *, version: int) -> bytes:
    entries: dict[str, tuple[str, tuple[int, ...], int]] = {}
    place = 0
    for name, array in arrays.items():
        entries[name] = (array.dtype.str, array.shape, place)
        place += -(-array.nbytes // _ALIGN) * _ALIGN
    directory = json.dumps(entries).encode()
    begin = -(-(_HEAD.size + len(directory)) // _ALIGN) * _ALIGN
    out = bytearray(begin + place)
    out[_HEAD.size : _HEAD.size + len(directory)] = directory
    for name, array in arrays.items():
        at = begin + entries[name][2]
        out[at : at + array.nbytes] = np.ascontiguousarray(array).tobytes()
    _HEAD.pack_into(out, 0, _MAGIC, version, len(directory), len(out), _checksum(memoryview(out)))
    return bytes(out)


def unpack(buffer: Any, *, version: int) -> dict[str, Array]:
    """Returns views into `buffer` (bytes or an mmap), which must outlive them."""
    view = memoryview(buffer).cast("B")
    if len(view) < _HEAD.size:
        raise CorruptIndexError("it is too short")
    magic, found_version, directory_length, length, checksum = _HEAD.unpack_from(view)
    if magic != _MAGIC:
        raise CorruptIndexError("it does not start with the magic bytes")
    if found_version != version:
        raise CorruptIndexError(f"it has format {found_version}, this version reads {version}")
    if length != len(view):
        raise CorruptIndexError(f"it has {len(view)} bytes instead of {length}")
    if checksum != _checksum(view):
        raise CorruptIndexError("its checksum is wrong")
    begin = -(-(_HEAD.size + directory_length) // _ALIGN) * _ALIGN
    try:
        directory = json.loads(bytes(view[_HEAD.size : _HEAD.size + directory_length]))
        return {name: _array(view, begin, *entry) for name, entry in directory.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptIndexError("its directory cannot be read") from error


def _array(view: memoryview, begin: int, dtype: str, shape: list[int], place: int) -> Array:
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(view, dtype=np.dtype(dtype), count=count, offset=begin + place).reshape(shape)


def _checksum(view: memoryview) -> int:
    """Sums everything after the fixed head; the length is always a multiple of 64."""
    whole = len(view) // 8 * 8
    return int(np.frombuffer(view[_HEAD.size : whole], dtype="<u8").sum(dtype=np.uint64)) if whole > _HEAD.size else 0
