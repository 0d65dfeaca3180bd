"""The scan of a skill, once for each content: bytes that passed need not be read again to be restored.

Only a plain pass is remembered, under the version of metier whose rules it passed and in a cache that is the user's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metier import __version__
from metier.archive import digest
from metier.spec import Files

from .fetch.cache import SkillCache

if TYPE_CHECKING:
    from metier.scan import ScanReport

    from .protocols import Scan

__all__ = ["cached_scan"]


def cached_scan(cache: SkillCache, scan: Scan | None = None) -> Scan:
    def judged(files: Files, *, folder: str) -> ScanReport | None:
        # The folder counts: some rules compare it with what the skill says of itself.
        key = f"scan {__version__} {folder} {digest(files)}"
        if (cache.recall(key) or {}).get("verdict") == "pass":
            return None
        if scan is None:
            # Imported here: the rules take longer to load than most skills to read.
            from metier.scan import scan as every_rule

            report: ScanReport | None = every_rule(files, folder=folder)
        else:
            report = scan(files, folder=folder)
        if report is not None and report.verdict == "pass":
            cache.remember(key, {"verdict": "pass"})
        return report

    return judged
