"""Decodes text: base64, hex, escapes, character codes, gzip, rot13, reversal. The result is scanned like any other text.

Only data that decodes to readable text is returned; images and keys are not.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import islice

from metier.scan.expressions import text_pattern
from metier.scan.text import SkillText, TextKind

__all__ = ["decode_texts"]

_BASE64 = text_pattern(r"[A-Za-z0-9+/_-]{20,65536}={0,2}")
_HEX = text_pattern(r"(?:[0-9a-fA-F]{2}){16,32768}")
_ESCAPES = text_pattern(r"(?:\\{1,2}x[0-9a-fA-F]{2}){8,8192}|(?:\\{1,2}u00[0-9a-fA-F]{2}){8,8192}|(?:\\{1,2}[0-7]{3}){8,8192}")
_CODE_LIST = text_pattern(r",(?:\s{0,2}\d{2,3}\s{0,2},){8}")
"""A part of such codes, which is quicker to find."""
_CODES = text_pattern(r"(?:\d{2,3}\s{0,2},\s{0,2}){9,4096}\d{2,3}")
_PERCENT = text_pattern(r"(?:%[0-9a-fA-F]{2}[\w.-]{0,8}){10,4096}")
_QUOTED = text_pattern(r"[\"']([^\"'\n]{16,4000})[\"']")
_MOST = 60
_MOST_RUNS = 20_000
_READABLE = frozenset(range(32, 127)) | {9, 10, 13}
_SUSPICIOUS = text_pattern(
    r"import |exec|eval|curl|wget|http|bash|sh -c|/bin/|os\.|subprocess|require\(|function|powershell|ignore|instruction"
    r"|base64|passw|\.ssh|\$\(|<script|cmd|iex|socket|chmod|user|send|run |rm -"
)


def decode_texts(text: SkillText, *, limit: int) -> Iterator[SkillText]:
    """Yields the readable text behind each encoding, at most `limit` characters."""
    left = limit
    seen: set[str] = set()
    for name, at, plain in islice(_candidates(text.text), _MOST * 6):
        if plain in seen or len(plain) > left:
            continue
        seen.add(plain)
        left -= len(plain)
        line, column = text.position(at)
        via = f"{name} in {text.via}" if text.via else name
        yield SkillText(text.path, _kind(plain, text.kind), plain, first=line, column=column, via=via)


def _candidates(text: str) -> Iterator[tuple[str, int, str]]:
    runs = [found for found in islice(_BASE64.finditer(text), _MOST_RUNS) if _looks_random(found[0]) or len(found[0]) >= 32]
    for found in runs[: _MOST * 4]:
        plain = _from_bytes(_unbase64(found[0])) if _looks_random(found[0]) else ""
        if plain:
            yield "base64", found.start(), plain
    # Digits of a hexadecimal number are letters of base64 too, so only its runs are searched.
    for at, digits in islice(
        ((run.start() + found.start(), found[0]) for run in runs for found in _HEX.finditer(run[0])), _MOST
    ):
        plain = _from_bytes(bytes.fromhex(digits))
        if plain:
            yield "hex", at, plain
    yield from _spelled_out(text)
    yield from _turned(text)


def _spelled_out(text: str) -> Iterator[tuple[str, int, str]]:
    """Yields text that is written as escapes, character codes or percent signs."""
    for found in islice(_ESCAPES.finditer(text), _MOST) if "\\" in text else ():
        base = 8 if found[0].lstrip("\\")[0] not in "xu" else 16
        codes = re.findall(r"[0-7]{3}" if base == 8 else r"[xu](?:00)?([0-9a-fA-F]{2})", found[0])
        plain = _readable("".join(chr(int(code, base)) for code in codes))
        if plain:
            yield "escapes", found.start(), plain
    for found in islice(_CODES.finditer(text), _MOST) if _CODE_LIST.search(text) else ():
        codes = [int(code) for code in re.findall(r"\d+", found[0])]
        plain = _readable("".join(map(chr, codes))) if all(9 <= code < 127 for code in codes) else ""
        if plain:
            yield "character codes", found.start(), plain
    for found in islice(_PERCENT.finditer(text), _MOST) if text.count("%") >= 10 else ():
        plain = _readable(re.sub(r"%([0-9a-fA-F]{2})", lambda code: chr(int(code[1], 16)), found[0]))
        if plain:
            yield "percent encoding", found.start(), plain


def _turned(text: str) -> Iterator[tuple[str, int, str]]:
    """Yields strings of a script that reverses or rotates text."""
    low = text[:200_000].lower()
    turns: list[tuple[str, Callable[[str], str]]] = []
    if "rot13" in low or "rot_13" in low or ("a-za-z" in low.replace(" ", "") and "n-za-m" in low.replace(" ", "")):
        turns.append(("rot13", lambda word: codecs.decode(word, "rot13")))
    if "[::-1]" in low or ".reverse()" in low or "reversed(" in low or "| rev" in low:
        turns.append(("reversal", lambda word: word[::-1]))
    for name, turn in turns:
        for found in islice(_QUOTED.finditer(text), _MOST):
            plain = turn(found[1])
            if _SUSPICIOUS.search(plain) and not _SUSPICIOUS.search(found[1]):
                yield name, found.start(1), plain


def _looks_random(word: str) -> bool:
    """Returns True if a word mixes letters as an encoding does. Paths and long identifiers do not."""
    if word.endswith("="):
        return True
    return (
        bool(re.search(r"[0-9]", word) and re.search(r"[a-z]", word) and re.search(r"[A-Z]", word))
        and word.count("/") * 8 < len(word)
        and word.count("-") * 6 < len(word)
    )


def _unbase64(word: str) -> bytes:
    word = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(word + "=" * (-len(word) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_bytes(data: bytes) -> str:
    if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
        try:
            data = zlib.decompressobj(wbits=47).decompress(data, 128 * 1024)
        except zlib.error:
            return ""
    if len(data) > 8 and data[1::2].count(0) > len(data) // 2 - 2:
        # PowerShell's -EncodedCommand is UTF-16.
        data = data[::2]
    if len(data) < 12 or sum(byte in _READABLE for byte in data[:4_096]) < 0.97 * min(len(data), 4_096):
        return ""
    return data.decode("utf-8", "replace")


def _readable(plain: str) -> str:
    good = sum(ord(char) in _READABLE for char in plain[:4_096])
    return plain if len(plain) >= 8 and good >= 0.97 * min(len(plain), 4_096) else ""


def _kind(plain: str, outer: TextKind) -> TextKind:
    if re.search(r"^\s*(?:import|from|def|exec\(|print\()\b", plain) or "__import__" in plain:
        return TextKind.PYTHON
    if re.search(r"require\(|=>|\bfunction\b|\bconst \w|process\.env", plain):
        return TextKind.JAVASCRIPT
    if (
        re.search(r"^\s*(?:#!/|/bin/|curl|wget|bash|sh|sudo|echo|cd|export|rm|nohup|\(?nc|chmod|python3? -c|eval)\b", plain)
        or "$(" in plain
        or "| sh" in plain
        or "|sh" in plain
        or "| bash" in plain
        or "|bash" in plain
    ):
        return TextKind.SHELL
    return TextKind.PROSE if outer is TextKind.PROSE or " " in plain else outer
