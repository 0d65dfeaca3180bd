"""The skill as the scan sees it: files read once, documents split once, everything bounded.

All limits count bytes, files and pieces. A limit in seconds would give another result on a busy machine.
"""

from __future__ import annotations

import re
from itertools import islice

from metier.errors import NotFoundError
from metier.spec import SKILL_FILE, FileEntry, Files, Manifest, parse
from metier.values import dataclass, field

from .purpose import Purpose
from .readers.markdown import split_document
from .text import SkillText, TextKind, kind_of

__all__ = ["ScanLimits", "ScanSubject", "read_subject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimits:
    """Limits on the text that is read. Files beyond a limit are named in the report."""

    file_bytes: int = 1024 * 1024
    total_bytes: int = 6 * 1024 * 1024
    files: int = 2_000
    decoded_bytes: int = 256 * 1024
    decoded_layers: int = 3


@dataclass(slots=True)
class ScanSubject:
    manifest: Manifest | None = None
    purpose: Purpose = field(default_factory=Purpose)
    raw: list[SkillText] = field(default_factory=list)
    """The text files, whole."""
    texts: list[SkillText] = field(default_factory=list)
    """The same texts, with documents split into prose and code."""
    binaries: dict[str, bytes] = field(default_factory=dict)
    """All other files."""
    entries: list[FileEntry] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    """File and reason."""


def read_subject(files: Files, folder: str | None, limits: ScanLimits, manifest: Manifest | None = None) -> ScanSubject:
    subject = ScanSubject()
    entries = list(islice(files.list(), limits.files + 1))
    if len(entries) > limits.files:
        subject.unread.append((entries[limits.files].path, f"and all files after it: the limit is {limits.files:,} files"))
        # SKILL.md is always read.
        entries = [*(entry for entry in files.list() if entry.path == SKILL_FILE), *entries[: limits.files - 1]]
    subject.entries = list({entry.path: entry for entry in entries}.values())
    # The files that an agent reads first come first, so that large data cannot use up the budget.
    left = limits.total_bytes
    for entry in sorted(subject.entries, key=lambda one: (one.path != SKILL_FILE, _is_data(one.path), one.path)):
        left -= _read(files, entry, min(limits.file_bytes, max(left, 0)), subject)
    _read_manifest(subject, folder, manifest)
    for text in subject.raw:
        subject.texts += split_document(text) if text.kind is TextKind.PROSE else [text]
    return subject


def _is_data(path: str) -> bool:
    return path.lower().endswith((".json", ".csv", ".xml", ".svg", ".html", ".css", ".lock", ".xsd", ".ttf", ".map", ".tsv"))


def _read(files: Files, entry: FileEntry, limit: int, subject: ScanSubject) -> int:
    """Reads one file into the subject. Returns the number of bytes read."""
    try:
        data = files.read(entry.path, limit=limit) if entry.size <= limit else None
    except NotFoundError:
        subject.unread.append((entry.path, "it was deleted during the scan"))
        return 0
    except OSError as error:
        subject.unread.append((entry.path, f"it cannot be read: {error}"))
        return 0
    if data is None:
        subject.unread.append((entry.path, f"{entry.size:,} bytes exceed the limit of {limit:,}"))
        return 0
    text = _decoded(data)
    if text is None:
        subject.binaries[entry.path] = data
    else:
        subject.raw.append(SkillText(entry.path, kind_of(entry.path, text), text))
    return len(data)


def _decoded(data: bytes) -> str | None:
    """Returns the text of a file, or None for binary data. UTF-16 with a byte order mark is text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\r\n", "\n")
    if b"\0" in data[:8192]:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # Replacing bad bytes is slow, and the beginning of an image is enough to tell. The cut may break one character.
        if data[: len(data) // 6].decode("utf-8", "replace").count("\ufffd") - 1 > max(8, len(data) // 20):
            return None
        text = data.decode("utf-8", "replace")
    if text.count("\ufffd") > max(8, len(text) // 20):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_manifest(subject: ScanSubject, folder: str | None, manifest: Manifest | None) -> None:
    first = next((text for text in subject.raw if text.path == SKILL_FILE), None)
    if manifest is None and first is not None:
        manifest = parse(first.text.encode("utf-8", "replace"), folder=folder).manifest
    subject.manifest = manifest
    name = manifest.name.lower() if manifest else ""
    if manifest is None and first is not None:
        # A file without frontmatter may have a title.
        heading = re.search(r"^#\s+([^\n]{1,100})", first.text, re.MULTILINE)
        name = heading[1].lower() if heading else ""
    subject.purpose = Purpose(name, manifest.description.lower() if manifest else "", (folder or "").lower())
