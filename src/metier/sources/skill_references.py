"""The things that the texts of many skills rely on. A text is read once, until its SKILL.md changes."""

from __future__ import annotations

import json
from collections.abc import Iterable

from metier.catalog import Entry, References, Source, read_references
from metier.errors import MetierError
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, split_document

from .disk_files import DiskFiles
from .metadata_cache import MetadataCache, TextRow

__all__ = ["read_all_references", "read_body"]


def read_body(folder: str) -> str:
    """Returns the text of a skill without its frontmatter; empty if it was removed since discovery."""
    try:
        return split_document(DiskFiles(folder).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).body
    except (OSError, MetierError):
        return ""


def read_all_references(entries: Iterable[Entry], cache: MetadataCache | None = None) -> dict[str, References]:
    """Returns what each skill names, by its folder. Of a skill on another server only the frontmatter is read."""
    known = cache.load_references() if cache else {}
    found: dict[str, References] = {}
    new: list[TextRow] = []
    for entry in entries:
        offer = entry.offer
        row = known.get(offer.folder)
        if row is not None and (row.mtime_ns, row.size) == (offer.mtime_ns, offer.size):
            found[entry.folder] = References(*map(tuple, json.loads(row.text))) if row.text else References()
            continue
        is_local = entry.source is not Source.MCP
        found[entry.folder] = read = read_references(entry.manifest, read_body(entry.folder) if is_local else "")
        if is_local:
            new.append(TextRow(offer.folder, offer.mtime_ns, offer.size, json.dumps(read) if any(read) else ""))
    if cache and new:
        cache.save_references(new)
    return found
