"""Scripts that a person cannot read: packed, garbled, or one endless line."""

from __future__ import annotations

import re
from itertools import islice

from metier.scan.collector import FindingCollector
from metier.scan.patterns import lazy_pattern, words
from metier.scan.scale import Confidence
from metier.scan.text import SkillText, TextKind

__all__ = ["judge_obfuscation"]

_GARBLED = lazy_pattern(r"\b_0x[0-9a-f]{4,6}\b")
_PACKED = lazy_pattern(r"eval\(function\(p,a,c,k,e,[rd]\)")
_KEY = lazy_pattern(
    r"\b(?:AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|sk-ant-[A-Za-z0-9_-]{40,}"
    r"|sk-proj-[A-Za-z0-9_-]{40,}|xox[bp]-[0-9A-Za-z-]{40,}"
    r"|AIza[0-9A-Za-z_-]{35}|sk_live_[0-9a-zA-Z]{24,}|glpat-[0-9A-Za-z_-]{20})\b|-----BEGIN (?:RSA |EC "
    r"|OPENSSH )?PRIVATE KEY-----\n[A-Za-z0-9+/=\n]{200}"
)
_PIECES = lazy_pattern(r"(?:['\"`]\w{1,12}['\"`]\s{0,4}\+\s{0,4}){1,8}['\"`]\w{1,12}['\"`]")
_HIDDEN_NAMES = words(
    "eval exec execSync spawn child_process subprocess system popen urlopen b64decode Function require atob fetch powershell"
)
_SCRIPTS = (TextKind.PYTHON, TextKind.SHELL, TextKind.JAVASCRIPT, TextKind.POWERSHELL)


def judge_obfuscation(text: SkillText, collector: FindingCollector) -> None:
    key = _KEY.search(text.text)
    if key and not re.search(r"EXAMPLE|xxxx|1234567|abcdef|your|fake|dummy", key[0], re.IGNORECASE):
        collector.flag("SK606", "looks like a live key", text=text, at=key.start(), end=key.start() + 8)
    if text.kind not in _SCRIPTS:
        return
    for pieces in islice(_PIECES.finditer(text.text), 200):
        if re.sub(r"['\"`+\s]", "", pieces[0]) in _HIDDEN_NAMES:
            collector.flag(
                "SK703",
                "hides what it calls by putting its name together",
                text=text,
                at=pieces.start(),
                confidence=Confidence.HIGH,
            )
            break
    packed = _PACKED.search(text.text)
    if packed:
        collector.flag("SK703", "a packed script", text=text, at=packed.start())
        return
    found = _GARBLED.search(text.text)
    if found and len(set(_GARBLED.findall(text.text[:200_000]))) >= 8:
        collector.flag("SK703", "names were garbled by a tool", text=text, at=found.start(), confidence=Confidence.MEDIUM)
        return
    longest = max((len(line) for line in text.text.split("\n")), default=0)
    if longest > 20_000 and ".min." not in text.path and not re.search(r"[A-Za-z0-9+/]{5000}", text.text):
        collector.add("SK703", f"a line of {longest:,} characters", file=text.path, confidence=Confidence.LOW)
