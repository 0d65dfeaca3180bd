"""Files that are no text: programs, archives, images, and files that pretend to be something else."""

from __future__ import annotations

from collections.abc import Mapping

from metier.scan.collector import FindingCollector
from metier.scan.scale import Confidence

from .hidden_text import hidden_in_image

__all__ = ["judge_binary"]

_PROGRAMS = {
    b"\x7fELF": "a Linux program",
    b"MZ": "a Windows program",
    b"\xcf\xfa\xed\xfe": "a macOS program",
    b"\xca\xfe\xba\xbe": "a macOS program or Java class",
    b"\xce\xfa\xed\xfe": "a macOS program",
    b"\0asm": "a WebAssembly program",
}
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"Rar!": "a rar archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
}
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8", b"GIF8", b"RIFF")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp")
# Documents that are zip archives by format.
_DOCUMENTS = (
    ".docx",
    ".xlsx",
    ".pptx",
    ".odt",
    ".ods",
    ".odp",
    ".jar",
    ".whl",
    ".epub",
    ".apk",
    ".vsix",
    ".xpi",
    ".key",
    ".numbers",
    ".pages",
    ".dotx",
    ".potx",
    ".xltx",
    ".usdz",
    ".kmz",
    ".3mf",
    ".sketch",
    ".skill",
    ".npz",
    ".ttf",
    ".woff",
    ".woff2",
)
_ENCRYPTED = 0x1


def judge_binary(path: str, data: bytes, collector: FindingCollector) -> None:
    low = path.lower()
    program, archive = _named(data, _PROGRAMS), _named(data, _ARCHIVES)
    if b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE" in data[:4_096]:
        collector.add("SK704", "the test file of virus scanners", file=path, confidence=Confidence.HIGH)
    elif program:
        if low.endswith((*_PICTURES, ".txt", ".md", ".pdf", ".json")):
            collector.add(
                "SK707", f"{program} that calls itself {low.rpartition('.')[2]}", file=path, confidence=Confidence.HIGH
            )
        collector.add("SK704", program, file=path)
    elif low.endswith((".pyc", ".pyo")):
        collector.add("SK704", "compiled Python", file=path, confidence=Confidence.LOW if "__pycache__" in low else None)
    elif archive and not low.endswith(_DOCUMENTS):
        _archive(path, low, archive, data, collector)
    elif data.startswith(_IMAGES):
        hidden_in_image(path, data, collector)


def _named(data: bytes, kinds: Mapping[bytes, str]) -> str:
    # Asked for all at once first: most files are none of them.
    return next(words for magic, words in kinds.items() if data.startswith(magic)) if data.startswith(tuple(kinds)) else ""


def _archive(path: str, low: str, archive: str, data: bytes, collector: FindingCollector) -> None:
    if low.endswith((*_PICTURES, ".txt", ".md", ".pdf")):
        collector.add("SK707", f"{archive} that calls itself {low.rpartition('.')[2]}", file=path)
    elif data.startswith(b"PK\x03\x04") and len(data) > 8 and data[6] & _ENCRYPTED:
        collector.add("SK705", "a zip archive with a password", file=path, confidence=Confidence.HIGH)
    else:
        collector.add("SK705", archive, file=path, confidence=Confidence.LOW if low.endswith((".gz", ".bz2", ".xz")) else None)
