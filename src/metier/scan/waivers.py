"""Waivers: findings that a person has reviewed and accepted, in a TOML file.

    [[waiver]]
    rule = "SK501"
    path = "scripts/install.sh"     # a glob; the file inside the skill
    reason = "our own installer, pinned by digest in line 12"
    expires = 2027-01-31            # the last day it holds
    skill = "deploy"                # optional; a glob over names of skills

A waiver needs a reason and a date.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from fnmatch import fnmatchcase

from metier.errors import ConfigError
from metier.values import dataclass, replace

from .report import Finding, ScanReport
from .rules.table import RULES

__all__ = ["Waiver", "apply_waivers", "read_waivers"]

_KEYS = frozenset(("rule", "path", "reason", "expires", "skill"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    rule: str
    path: str
    reason: str
    expires: date
    skill: str = "*"

    def covers(self, finding: Finding, skill: str) -> bool:
        return finding.code == self.rule and fnmatchcase(finding.file, self.path) and fnmatchcase(skill, self.skill)


def read_waivers(text: str, *, file: str) -> tuple[Waiver, ...]:
    """Parses the waivers of a TOML text. `file` is named in errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {error}", file=file, hint="see docs/scan.md for the format of waivers") from None
    rows = document.get("waiver", [])
    if not isinstance(rows, list) or set(document) - {"waiver"}:
        raise ConfigError(
            "contains something other than [[waiver]] tables", file=file, hint="see docs/scan.md for the format of waivers"
        )
    return tuple(_waiver(row, number, file) for number, row in enumerate(rows, start=1))


def _waiver(row: object, number: int, file: str) -> Waiver:
    def wrong(what: str, hint: str) -> ConfigError:
        return ConfigError(f"waiver {number} {what}", file=file, hint=hint)

    if not isinstance(row, dict) or not set(row) <= _KEYS:
        raise wrong("has unknown keys", f"use {', '.join(sorted(_KEYS))}")
    expires = row.get("expires")
    if isinstance(expires, datetime):
        expires = expires.date()
    if not isinstance(expires, date):
        raise wrong("has no expiry date", "add expires = 2027-01-31, the last day on which it is valid")
    texts = {key: row.get(key, "*" if key == "skill" else "") for key in ("rule", "path", "reason", "skill")}
    if not all(isinstance(value, str) and value.strip() for value in texts.values()):
        raise wrong("has no rule, path or reason", "set all three to non-empty text")
    if texts["rule"] not in RULES:
        raise wrong(f"names an unknown rule {texts['rule']!r}", "`metier skill explain` lists all codes")
    return Waiver(expires=expires, **texts)


def apply_waivers(report: ScanReport, waivers: Sequence[Waiver], *, skill: str, today: date) -> ScanReport:
    """Marks the waived findings, and adds a finding for each waiver that has expired or matches nothing."""
    if not waivers:
        return report
    used: set[Waiver] = set()
    findings: list[Finding] = []
    for finding in report.findings:
        covering = [one for one in waivers if one.covers(finding, skill)]
        used.update(covering)
        valid = next((one for one in covering if today <= one.expires), None)
        findings.append(replace(finding, waived=valid.reason) if valid else finding)
    findings += _notes(waivers, used, skill, today)
    return replace(report, findings=tuple(sorted(findings, key=lambda one: one.order)))


def _notes(waivers: Iterable[Waiver], used: set[Waiver], skill: str, today: date) -> Iterable[Finding]:
    for one in waivers:
        if not fnmatchcase(skill, one.skill):
            continue
        if one in used and today > one.expires:
            yield _note("SK903", f"the waiver of {one.rule} for {one.path} expired on {one.expires}")
        elif one not in used and one.skill != "*":
            yield _note("SK904", f"the waiver of {one.rule} for {one.path} matches no finding")


def _note(code: str, message: str) -> Finding:
    rule = RULES[code]
    return Finding(code=code, message=message, confidence=rule.confidence, reach=rule.reach)
