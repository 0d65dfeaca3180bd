"""The skill as the scan sees it: files read once, documents split once, everything bounded.

All limits count bytes, files and pieces. A limit in seconds would give another result on a busy machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from metier.errors import NotFoundError
from metier.generated_names import GENERATED_NAMES, HISTORY_NAMES, is_generated
from metier.scan.expressions import text_pattern
from metier.spec import SKILL_FILE, FileEntry, Files, LinkedFiles, Manifest, parse
from metier.values import dataclass, field

from .purpose import Purpose
from .readers.markdown import split_document
from .scale import Confidence
from .text import SkillText, TextKind, kind_of

__all__ = ["ScanLimits", "ScanSubject", "UnreadFile", "read_subject"]

_GENERATED_PATH = text_pattern(rf"(?:{'|'.join(map(re.escape, sorted(GENERATED_NAMES)))})/[\w./@+-]{{1,200}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimits:
    """Limits on the text that is read. Files beyond a limit are named in the report."""

    file_bytes: int = 1024 * 1024
    total_bytes: int = 6 * 1024 * 1024
    files: int = 2_000
    decoded_bytes: int = 256 * 1024
    decoded_layers: int = 3


@dataclass(frozen=True, slots=True)
class UnreadFile:
    path: str
    """A file, or a folder whose files were not all read."""
    reason: str
    confidence: Confidence | None = None
    """That it matters; None for that of the rule."""


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
    unread: list[UnreadFile] = field(default_factory=list)


def read_subject(files: Files, folder: str | None, limits: ScanLimits, manifest: Manifest | None = None) -> ScanSubject:
    subject = ScanSubject()
    entries = list(files.list())
    own = [entry for entry in entries if not is_generated(entry.path)]
    if len(own) > limits.files:
        why = f"and all files after it: the limit is {limits.files:,} files"
        subject.unread.append(UnreadFile(own[limits.files].path, why))
        # SKILL.md is always read.
        own = [*(entry for entry in own if entry.path == SKILL_FILE), *own[: limits.files - 1]]
    subject.entries = list({entry.path: entry for entry in own}.values())
    # The files that an agent reads first come first, so that large data cannot use up the budget.
    left = limits.total_bytes
    for entry in sorted(subject.entries, key=lambda one: (one.path != SKILL_FILE, _is_data(one.path), one.path)):
        left -= _read(files, entry, min(limits.file_bytes, max(left, 0)), subject)
    if len(entries) > len(own):
        _read_generated(files, [entry for entry in entries if is_generated(entry.path)], limits, left, subject)
    _read_links(files, limits, subject)
    _read_manifest(subject, folder, manifest)
    for text in subject.raw:
        subject.texts += split_document(text) if text.kind is TextKind.PROSE else [text]
    return subject


def _read_generated(
    files: Files, entries: Sequence[FileEntry], limits: ScanLimits, left: int, subject: ScanSubject
) -> None:  # fmt: skip
    """Reads the files that tools write, as far as the limits allow, scripts first. One finding per folder counts the rest."""
    own = [text.text for text in subject.raw]
    unread, subject.unread = subject.unread, []
    files_left = max(0, limits.files - len(subject.entries))
    subject.entries += entries[: limits.files]
    ordered = sorted(entries, key=lambda one: (_is_history(one.path), kind_of(one.path, "") is TextKind.OTHER, one.path))
    for entry in ordered[:files_left]:
        left -= _read(files, entry, min(limits.file_bytes, max(left, 0)), subject)
    missed = [*(one.path for one in subject.unread), *(entry.path for entry in ordered[files_left:])]
    subject.unread = unread
    named = {found[0].rstrip(".,") for text in own for found in _GENERATED_PATH.finditer(text)} if missed else set()
    counts = Counter(_generated_folder(entry.path) for entry in entries)
    for folder, count in Counter(map(_generated_folder, missed)).items():
        why = f"{count:,} of {counts[folder]:,} files"
        subject.unread.append(UnreadFile(folder, why, Confidence.LOW if _is_history(folder) else None))
    for path in missed:
        # From the folder's name on: the path may be written relative to any folder above.
        if path[len(_generated_folder(path).rpartition("/")[0]) :].lstrip("/") in named:
            subject.unread.append(UnreadFile(path, "the skill names it, and a limit was reached before it", Confidence.HIGH))


def _generated_folder(path: str) -> str:
    """Returns the path up to the name of a tool's folder, such as `scripts/node_modules`."""
    parts = path.split("/")
    return "/".join(parts[: next(place for place, part in enumerate(parts, 1) if part in GENERATED_NAMES)])


def _is_history(path: str) -> bool:
    return not HISTORY_NAMES.isdisjoint(path.split("/"))


def _read_links(files: Files, limits: ScanLimits, subject: ScanSubject) -> None:
    """Adds files that are of another kind under the name of a link, such as a script whose link hides a document."""
    if not isinstance(files, LinkedFiles):
        return
    for link in files.links[: limits.files]:
        try:
            text = _decoded(files.read(link.path, limit=limits.file_bytes))
        except (NotFoundError, OSError):
            # It leads out, to nothing, or to a folder, whose files are listed under their own names.
            continue
        kind = kind_of(link.path, text) if text is not None else TextKind.OTHER
        if text is not None and kind is not TextKind.OTHER and not any(
            one.text == text and one.kind is kind for one in subject.raw
        ):  # fmt: skip
            subject.raw.append(SkillText(link.path, kind, text))


def _is_data(path: str) -> bool:
    return path.lower().endswith((".json", ".csv", ".xml", ".svg", ".html", ".css", ".lock", ".xsd", ".ttf", ".map", ".tsv"))


def _read(files: Files, entry: FileEntry, limit: int, subject: ScanSubject) -> int:
    """Reads one file into the subject. Returns the number of bytes read."""
    try:
        data = files.read(entry.path, limit=limit) if entry.size <= limit else None
    except NotFoundError:
        subject.unread.append(UnreadFile(entry.path, "it was deleted during the scan"))
        return 0
    except OSError as error:
        subject.unread.append(UnreadFile(entry.path, f"it cannot be read: {error}"))
        return 0
    if data is None:
        subject.unread.append(UnreadFile(entry.path, f"{entry.size:,} bytes exceed the limit of {limit:,}"))
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
