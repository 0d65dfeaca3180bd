"""Finds credentials in the files of a skill. The patterns are narrow, because a false positive blocks a release.

Placeholders such as `AKIAIOSFODNN7EXAMPLE` and `sk-ant-xxxxxxxx` are recognised by their words and their low entropy.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from metier.spec import Files, Problem, Severity

__all__ = ["find_secrets"]

_PATTERNS = {
    "aws-access-key": r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b",
    "github-token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{50,255})\b",
    "gitlab-token": r"\bglpat-[A-Za-z0-9_-]{20,64}\b",
    "slack-token": r"\bxox[abeoprs]-[A-Za-z0-9-]{20,250}\b",
    "slack-webhook": r"https://hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{20,32}",
    "anthropic-key": r"\bsk-ant-(?:api|admin)\d\d-[A-Za-z0-9_-]{60,120}",
    "openai-key": r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{40,180}\b",
    "google-key": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "stripe-key": r"\b[rs]k_live_[A-Za-z0-9]{20,120}\b",
    "npm-token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "pypi-token": r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,250}",
    "hugging-face-token": r"\bhf_[A-Za-z]{34}\b",
    "sendgrid-key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
    "metier-token": r"\bmtr_[A-Za-z0-9]{49}\b",
    "private-key": r"-----BEGIN (?:RSA |EC |OPENSSH |DSA |PGP |ENCRYPTED )?PRIVATE KEY(?: BLOCK)?-----\s*\n[\w+/=\s:,-]{64}",
    "password-in-address": r"\b(?:postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqps?)://[^\s:/@<>{}$]+:[^\s:/@<>{}$*]{8,}@[\w.-]+",
}  # fmt: skip
_MARKS = {
    "aws-access-key": ("AKIA", "ASIA"),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": ("glpat-",),
    "slack-token": ("xox",),
    "slack-webhook": ("hooks.slack.com/",),
    "anthropic-key": ("sk-ant-",),
    "openai-key": ("sk-",),
    "google-key": ("AIza",),
    "stripe-key": ("k_live_",),
    "npm-token": ("npm_",),
    "pypi-token": ("pypi-",),
    "hugging-face-token": ("hf_",),
    "sendgrid-key": ("SG.",),
    "metier-token": ("mtr_",),
    "private-key": ("-----BEGIN ",),
    "password-in-address": ("postgres", "mysql:", "mongodb", "redis:", "amqp"),
}
"""Texts of which every match contains one. Most files have none, and looking for them is fast."""
_NEVER = re.compile(
    r"(?:^|/)(?:\.env(?:\.(?:local|production|prod))?|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pypirc|\.git-credentials)$"
)
_EXAMPLE = re.compile(
    r"(?i)example|sample|dummy|placeholder|your|xxxx|test|1234567|abcdefg|\.\.\.|changeme|redacted|localhost|127\.0\.0\.1"
)
_LARGEST = 2 * 1024 * 1024
_LEAST_BITS = 3.0


def find_secrets(files: Files) -> Iterator[Problem]:
    """Yields a problem for each credential, with its file and line but without its text."""
    for entry in files.list():
        if _NEVER.search(entry.path):
            yield _problem(f"{entry.path.rpartition('/')[2]!r} contains credentials by convention", entry.path, None)
        if entry.size > _LARGEST:
            continue
        text = files.read(entry.path, limit=_LARGEST).decode("utf-8", "replace")
        likely = tuple(name for name, marks in _MARKS.items() if any(mark in text for mark in marks))
        for found in _joined(likely).finditer(text) if likely else ():
            kind = (found.lastgroup or "").replace("_", "-")
            if kind == "private-key" or (not _EXAMPLE.search(found[0]) and _bits(found[0]) >= _LEAST_BITS):
                what = kind.replace("-", " ")
                yield _problem(
                    f"this looks like {'an' if what[0] in 'aeio' else 'a'} {what}",
                    entry.path,
                    text.count("\n", 0, found.start()) + 1,
                )


@lru_cache(maxsize=64)
def _joined(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name.replace('-', '_')}>{_PATTERNS[name]})" for name in names))


def _bits(text: str) -> float:
    """Returns the entropy of the characters; placeholders repeat theirs."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values())


def _problem(message: str, file: str, line: int | None) -> Problem:
    return Problem(code="RG001", severity=Severity.ERROR, message=message, file=file, line=line,
                   hint="remove it, and revoke it if it was shared")  # fmt: skip
