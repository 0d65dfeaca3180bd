"""A skill as one file: packed the same way every time, unpacked in memory and only when every byte is accounted for."""

from .contents import Contents, Link, Member
from .digest import digest, digest_of, file_hashes
from .limits import REPOSITORY_LIMITS, SKILL_LIMITS, Limits
from .names import collision_key, portable_path
from .packing import Format, pack
from .unpacking import sniff, unpack, unwrap

__all__ = [
    "REPOSITORY_LIMITS",
    "SKILL_LIMITS",
    "Contents",
    "Format",
    "Limits",
    "Link",
    "Member",
    "collision_key",
    "digest",
    "digest_of",
    "file_hashes",
    "pack",
    "portable_path",
    "sniff",
    "unpack",
    "unwrap",
]
