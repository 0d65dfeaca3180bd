"""The digest of a skill's contents.

    digest = "sha256:" + hex(SHA-256 of all lines)
    line   = path NUL mode NUL hex(SHA-256 of the bytes) LF

Lines are sorted by path as UTF-8 bytes; `mode` is git's: `100644`, `100755` for a file that may be run, `120000` for a
link, whose bytes are its target. A path has neither NUL nor a line end (`resource_path`), so different skills have different
lines; hashing the bytes in place would let one file imitate two. Times, owners and empty folders do not count.
Because a line holds a hash and not the bytes, a lock that keeps the hash of every file can recompute the digest of the
whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from metier.spec import Files

from .contents import EXECUTABLE, LINK, PLAIN, Contents
from .limits import SKILL_LIMITS

__all__ = ["EXECUTABLE", "LINK", "PLAIN", "digest", "digest_of_hashes", "file_hashes"]


def file_hashes(files: Files, *, limit: int = SKILL_LIMITS.file) -> dict[str, tuple[str, str]]:
    """Mode and hex SHA-256 of every file and link, by path. `limit` is the size of the largest file that is read."""
    if isinstance(files, Contents):
        return dict(files.hashes)
    hashes: dict[str, tuple[str, str]] = {}
    for entry in files.list():
        data = files.read(entry.path, limit=limit)
        hashes[entry.path] = (EXECUTABLE if entry.executable else PLAIN, hashlib.sha256(data).hexdigest())
    return dict(sorted(hashes.items(), key=lambda item: item[0].encode()))


def digest_of_hashes(hashes: Mapping[str, tuple[str, str]]) -> str:
    whole = hashlib.sha256()
    # On disk a name can hold bytes that are no UTF-8.
    lines = ((path.encode("utf-8", "surrogateescape"), *rest) for path, rest in hashes.items())
    for path, mode, content in sorted(lines):
        whole.update(path + f"\0{mode}\0{content}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def digest(files: Files, *, limit: int = SKILL_LIMITS.file) -> str:
    return digest_of_hashes(file_hashes(files, limit=limit))
