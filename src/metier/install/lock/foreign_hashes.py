"""The hashes that other installers keep of a skill: git's id of a folder, and those of npm's `skills` and of apm. Pure."""

from __future__ import annotations

import hashlib
import posixpath
import unicodedata
from collections.abc import Iterable

from metier.archive import Contents

__all__ = ["folder_hash", "matches_hash", "package_hash", "tree_id"]

# The order of ASCII in the collation that JavaScript's localeCompare uses; letters follow without regard to case.
_ORDER = {char: place for place, char in enumerate(" _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz")}


def folder_hash(contents: Contents) -> str:
    """Returns SHA-256 over each path and its bytes, in the order of localeCompare. Links do not count."""
    total = hashlib.sha256()
    for member in sorted(contents.members, key=lambda one: _collation(one.path)):
        total.update(member.path.encode())
        total.update(member.data)
    return total.hexdigest()


def package_hash(contents: Contents) -> str:
    """Returns the SHA-256 that apm gives to a local folder: each path and its bytes, in the order of the paths.

    Apm copies the folder first, and its copy has files in place of links.
    """
    files = {member.path: member.data for member in contents.members}
    for link in contents.links:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(link.path), link.target))
        files |= {
            link.path + member.path.removeprefix(target): member.data
            for member in contents.members
            if f"{member.path}/".startswith(f"{target}/")
        }
    return hashlib.sha256(b"".join(path.encode() + files[path] for path in sorted(files))).hexdigest()


def tree_id(contents: Contents) -> str:
    """Returns the SHA-1 that git gives to a folder with these files."""
    entries = [
        (member.path.split("/"), "100755" if member.executable else "100644", _object("blob", member.data))
        for member in contents.members
    ]
    entries += [(link.path.split("/"), "120000", _object("blob", link.target.encode())) for link in contents.links]
    return _tree(entries).hex()


def matches_hash(contents: Contents, pinned: str) -> bool:
    """Returns whether the contents have this hash, whose kind follows from its length."""
    return pinned in ((tree_id(contents),) if len(pinned) == 40 else (folder_hash(contents), package_hash(contents)))


def _tree(entries: Iterable[tuple[list[str], str, bytes]]) -> bytes:
    folders: dict[str, list[tuple[list[str], str, bytes]]] = {}
    rows: list[tuple[bytes, bytes]] = []
    for parts, mode, digest in entries:
        if len(parts) > 1:
            folders.setdefault(parts[0], []).append((parts[1:], mode, digest))
        else:
            rows.append((parts[0].encode(), f"{mode} {parts[0]}\0".encode() + digest))
    # Git sorts a folder as if its name ended with a slash.
    rows += [(f"{name}/".encode(), f"40000 {name}\0".encode() + _tree(inner)) for name, inner in folders.items()]
    return _object("tree", b"".join(row for _, row in sorted(rows)))


def _object(kind: str, data: bytes) -> bytes:
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).digest()


def _collation(path: str) -> tuple[list[int], list[int], list[bool], str]:
    plain = unicodedata.normalize("NFD", path)
    letters = [char for char in plain if not unicodedata.combining(char)]
    accents = [ord(char) if unicodedata.combining(char) else 0 for char in plain]
    weights = [_ORDER.get(char.lower(), 1_000 + ord(char)) for char in letters]
    return weights, accents, [char.isupper() for char in letters], path
