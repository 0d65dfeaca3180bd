"""What a skill consists of, as one number: approvals are bound to it and end when it changes."""

from __future__ import annotations

import hashlib
import unicodedata

from metier.spec import Files

__all__ = ["tree_digest"]

_LARGEST = 1 << 30


def tree_digest(files: Files) -> str:
    """sha256 over one line for each file, sorted: path (NFC), executable or not, size, sha256. Times do not matter."""
    lines = []
    for entry in files.list():
        content = hashlib.sha256(files.read(entry.path, limit=_LARGEST)).hexdigest()
        path = unicodedata.normalize("NFC", entry.path)
        lines.append(f"{path}\0{'x' if entry.executable else '-'}\0{entry.size}\0{content}\n")
    return "sha256:" + hashlib.sha256("".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()
