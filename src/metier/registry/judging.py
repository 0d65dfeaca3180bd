"""The scanner as the registry's judge."""

from __future__ import annotations

from metier.scan import scan
from metier.spec import Files

from .admission import Judgement
from .model import Verdict

__all__ = ["scanned"]


def scanned(files: Files, *, name: str) -> Judgement:
    report = scan(files, folder=name)
    return Judgement(Verdict(report.verdict.value), tuple(report.report))
