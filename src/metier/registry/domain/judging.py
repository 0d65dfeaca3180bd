"""The scanner as the registry's judge."""

from __future__ import annotations

from metier.scan import scan
from metier.spec import Files

from .admission import ReleaseScan
from .records import ScanStatus

__all__ = ["scan_release"]


def scan_release(files: Files, *, name: str) -> ReleaseScan:
    report = scan(files, folder=name)
    return ReleaseScan(ScanStatus(report.verdict.value), tuple(report.report))
