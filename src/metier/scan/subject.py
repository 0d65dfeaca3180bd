"""A skill as the scan sees it: read once, cut into pieces once, and bounded in every direction.

All limits count bytes, files and pieces, never seconds: a limit in seconds would give another answer on a busy machine.
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
    """How much is read. What lies beyond is named in the report, never silently passed."""

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
    """Whole files that are text."""
    texts: list[SkillText] = field(default_factory=list)
    """The same, documents cut into prose and code."""
    binaries: dict[str, bytes] = field(default_factory=dict)
    """The beginning of every other file."""
    entries: list[FileEntry] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    """File and reason."""


def read_subject(files: Files, folder: str | None, limits: ScanLimits) -> ScanSubject:
    subject = ScanSubject()
    entries = list(islice(files.list(), limits.files + 1))
    if len(entries) > limits.files:
        subject.unread.append((entries[limits.files].path, f"and everything after it: more than {limits.files:,} files"))
        # SKILL.md is read whatever sorts before it.
        entries = [*(entry for entry in files.list() if entry.path == SKILL_FILE), *entries[: limits.files - 1]]
    subject.entries = list({entry.path: entry for entry in entries}.values())
    # What an agent reads first comes first, so that no heap of data can use up the budget.
    left = limits.total_bytes
    for entry in sorted(subject.entries, key=lambda one: (one.path != SKILL_FILE, _is_data(one.path), one.path)):
        left -= _read(files, entry, min(limits.file_bytes, max(left, 0)), subject)
    _introduce(subject, folder)
    for text in subject.raw:
        subject.texts += split_document(text) if text.kind is TextKind.PROSE else [text]
    return subject


def _is_data(path: str) -> bool:
    return path.lower().endswith((".json", ".csv", ".xml", ".svg", ".html", ".css", ".lock", ".xsd", ".ttf", ".map", ".tsv"))


def _read(files: Files, entry: FileEntry, limit: int, subject: ScanSubject) -> int:
    """How many bytes were used up."""
    try:
        data = files.read(entry.path, limit=limit) if entry.size <= limit else None
    except NotFoundError:
        subject.unread.append((entry.path, "it vanished while it was read"))
        return 0
    except OSError as error:
        subject.unread.append((entry.path, f"it cannot be read: {error}"))
        return 0
    if data is None:
        subject.unread.append((entry.path, f"{entry.size:,} bytes are more than {limit:,}"))
        return 0
    text = _decoded(data)
    if text is None:
        subject.binaries[entry.path] = data
    else:
        subject.raw.append(SkillText(entry.path, kind_of(entry.path, text), text))
    return len(data)


def _decoded(data: bytes) -> str | None:
    """Text, if it is one; UTF-16 with a mark is, because Windows and models read it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\r\n", "\n")
    if b"\0" in data[:8192]:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # Mending byte by byte is slow, and of an image the beginning tells enough: the cut may spoil one character, and the
        # whole has no more characters than bytes.
        if data[: len(data) // 6].decode("utf-8", "replace").count("\ufffd") - 1 > max(8, len(data) // 20):
            return None
        text = data.decode("utf-8", "replace")
    if text.count("\ufffd") > max(8, len(text) // 20):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _introduce(subject: ScanSubject, folder: str | None) -> None:
    first = next((text for text in subject.raw if text.path == SKILL_FILE), None)
    parsed = parse(first.text.encode("utf-8", "replace"), folder=folder) if first else None
    manifest = parsed.manifest if parsed else None
    subject.manifest = manifest
    name = manifest.name.lower() if manifest else ""
    if manifest is None and first is not None:
        # A file without frontmatter still says what it is: its title.
        heading = re.search(r"^#\s+([^\n]{1,100})", first.text, re.MULTILINE)
        name = heading[1].lower() if heading else ""
    subject.purpose = Purpose(name, manifest.description.lower() if manifest else "", (folder or "").lower())
