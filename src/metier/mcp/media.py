"""What kind of file a path names."""

from __future__ import annotations

import mimetypes

__all__ = ["DIRECTORY", "is_text", "media_type"]

DIRECTORY = "inode/directory"
_TEXT = frozenset({"application/json", "application/xml", "application/javascript", "application/yaml", "image/svg+xml"})
# What Python's table lacks or knows otherwise, for the files that skills have.
_TYPES = {
    ".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript", ".ts": "text/x-typescript",
    ".js": "text/javascript", ".json": "application/json", ".toml": "text/x-toml", ".yaml": "application/yaml",
    ".yml": "application/yaml", ".csv": "text/csv", ".txt": "text/plain", ".html": "text/html", ".css": "text/css",
}  # fmt: skip


def media_type(path: str) -> str:
    suffix = f".{path.rpartition('.')[2].lower()}" if "." in path.rpartition("/")[2] else ""
    return _TYPES.get(suffix) or mimetypes.guess_type(path, strict=False)[0] or "application/octet-stream"


def is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in _TEXT
