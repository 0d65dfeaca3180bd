"""Runs one scanner over many skills in its own process: `scan_probe.py KIND FOLDER` prints JSON.

It runs under the interpreter of the measured scanner. Imports, rule packs and a first skill are not timed, because a program
pays for them once. Nothing in the skills is run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def main() -> None:
    kind, folder = sys.argv[1:]
    judge = {"metier": _metier, "cisco": _cisco}[kind]()
    skills = sorted(inner.path for entry in os.scandir(folder) for inner in os.scandir(entry.path) if inner.is_dir())
    judge(skills[0])
    rows = {}
    for skill in skills:
        started = time.process_time()
        flagged = judge(skill)
        rows[os.path.basename(os.path.dirname(skill))] = {"flagged": flagged, "cpu": time.process_time() - started}
    print(json.dumps(rows))


def _metier() -> Callable[[str], str]:
    from metier.scan import scan
    from metier.sources import DiskFiles

    return lambda folder: scan(DiskFiles(folder), folder=os.path.basename(folder)).verdict.value


def _cisco() -> Callable[[str], str]:
    # By name: the type checker of this project does not know it.
    scanner = import_module("skill_scanner").SkillScanner()

    def judge(folder: str) -> str:
        try:
            return "pass" if scanner.scan_skill(Path(folder)).is_safe else "block"
        except Exception:  # the other scanner may raise anything; then it has no verdict
            return "error"

    return judge


if __name__ == "__main__":
    main()
