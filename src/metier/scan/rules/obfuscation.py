"""Content that a person cannot review: packed or obfuscated scripts, programs, archives, disguised files; and keys in files."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.expressions import text_pattern
from metier.scan.patterns import words
from metier.scan.readers.binaries import archive_kind, is_image, program_kind
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind

from .hidden_text import judge_image

__all__ = ["judge_binary", "judge_obfuscation"]

_OBFUSCATED_NAME = text_pattern(r"\b_0x[0-9a-f]{4,6}\b")
_PACKED = text_pattern(r"eval\(function\(p,a,c,k,e,[rd]\)")
_KEY = text_pattern(
    r"\b(?:AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|sk-ant-[A-Za-z0-9_-]{40,}"
    r"|sk-proj-[A-Za-z0-9_-]{40,}|xox[bp]-[0-9A-Za-z-]{40,}|AIza[0-9A-Za-z_-]{35}|sk_live_[0-9a-zA-Z]{24,}"
    r"|glpat-[0-9A-Za-z_-]{20})\b|-----BEGIN (?:RSA |EC |OPENSSH )?PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{200}"
)
_JOINED = text_pattern(r"\+\s{0,4}['\"`]\w{1,12}['\"`]")
"""The end of such pieces, which is far quicker to find."""
_PIECES = text_pattern(r"(?:['\"`]\w{1,12}['\"`]\s{0,4}\+\s{0,4}){1,8}['\"`]\w{1,12}['\"`]")
_HIDDEN_NAMES = words(
    "eval exec execSync spawn child_process subprocess system popen urlopen b64decode Function require atob fetch powershell"
)
_SCRIPTS = (TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT, TextKind.POWERSHELL)
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp")
# Documents that are zip archives by format, and fonts.
_DOCUMENTS = tuple(
    words(
        ".docx .xlsx .pptx .odt .ods .odp .jar .whl .epub .apk .vsix .xpi .key .numbers "
        ".pages .dotx .potx .xltx .usdz .kmz .3mf .sketch .skill .npz .ttf .woff .woff2"
    )
)
_ENCRYPTED = 0x1
_COMPILED = tuple(words(".jsc .luac .rbc .elc .beam .dex"))
# Bits of the second word of a .pyc file (PEP 552).
_HASHED, _COMPARED = 0b01, 0b10


def judge_obfuscation(text: SkillText, collector: FindingCollector) -> None:
    key = _KEY.search(text.text)
    if key and not re.search(r"EXAMPLE|xxxx|1234567|abcdef|your|fake|dummy", key[0], re.IGNORECASE):
        collector.flag("SK606", "contains what looks like a live key", text=text, at=key.start(), end=key.start() + 8)
    if text.kind not in _SCRIPTS:
        return
    for pieces in islice(_PIECES.finditer(text.text), 200) if _JOINED.search(text.text) else ():
        if re.sub(r"['\"`+\s]", "", pieces[0]) in _HIDDEN_NAMES:
            collector.flag(
                "SK703",
                "builds the name of what it calls from pieces",
                text=text,
                at=pieces.start(),
                confidence=Confidence.HIGH,
            )
            break
    packed = _PACKED.search(text.text)
    if packed:
        collector.flag("SK703", "the script is packed", text=text, at=packed.start())
        return
    found = _OBFUSCATED_NAME.search(text.text)
    if found and len(set(_OBFUSCATED_NAME.findall(text.text[:200_000]))) >= 8:
        collector.flag("SK703", "names are obfuscated by a tool", text=text, at=found.start(), confidence=Confidence.MEDIUM)
        return
    longest = max((len(line) for line in text.text.split("\n")), default=0)
    if longest > 20_000 and ".min." not in text.path and not re.search(r"[A-Za-z0-9+/]{5000}", text.text):
        collector.add("SK703", f"a line has {longest:,} characters", file=text.path, confidence=Confidence.LOW)


def judge_binary(path: str, data: bytes, paths: Collection[str], collector: FindingCollector) -> None:
    """Judges a binary file. `paths` are those of all files of the skill."""
    low = path.lower()
    extension = low.rpartition(".")[2]
    program, archive = program_kind(data), archive_kind(data)
    if b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE" in data[:4_096]:
        collector.add("SK704", "the test file of virus scanners", file=path, confidence=Confidence.HIGH)
    elif program:
        if low.endswith((*_PICTURES, ".txt", ".md", ".pdf", ".json")):
            collector.add("SK707", f"{program} with the extension .{extension}", file=path, confidence=Confidence.HIGH)
        collector.add("SK704", program, file=path)
    elif low.endswith((".pyc", ".pyo")):
        _judge_bytecode(path, data, paths, collector)
    elif low.endswith(_COMPILED):
        collector.add("SK708", "compiled code", file=path)
    elif archive and not low.endswith(_DOCUMENTS):
        if low.endswith((*_PICTURES, ".txt", ".md", ".pdf")):
            collector.add("SK707", f"{archive} with the extension .{extension}", file=path)
        elif data.startswith(b"PK\x03\x04") and len(data) > 8 and data[6] & _ENCRYPTED:
            collector.add("SK705", "a zip archive with a password", file=path, confidence=Confidence.HIGH)
        else:
            confidence = Confidence.LOW if low.endswith((".gz", ".bz2", ".xz")) else None
            collector.add("SK705", archive, file=path, confidence=confidence)
    elif is_image(data):
        judge_image(path, data, collector)


def _judge_bytecode(path: str, data: bytes, paths: Collection[str], collector: FindingCollector) -> None:
    folder, _, name = path.rpartition("/")
    is_cached = folder.rpartition("/")[2] == "__pycache__"
    source = f"{folder.rpartition('__pycache__')[0] if is_cached else f'{folder}/'}{name.partition('.')[0]}.py".lstrip("/")
    flags = int.from_bytes(data[4:8], "little")
    if flags & _HASHED and not flags & _COMPARED:
        what, confidence = "compiled Python that runs without a comparison with its source", Confidence.HIGH
    elif source not in paths and not is_cached:
        what, confidence = "compiled Python in the place of its source", Confidence.HIGH
    elif source not in paths or not is_cached:
        what, confidence = "compiled Python that no import uses", Confidence.MEDIUM
    elif flags & _HASHED:
        # Valid wherever it is unpacked, unlike the usual bytecode, which holds the time of its source.
        what, confidence = "compiled Python that runs in the place of its source", Confidence.MEDIUM
    else:
        what, confidence = "compiled Python", Confidence.LOW
    collector.add("SK708", what, file=path, confidence=confidence)
