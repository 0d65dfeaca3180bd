"""Runs our inert attacks, and published skills if a folder of them is given, and prints what behaviour finds.

    python -m benchmarks.behaviour                      # 198 attacks: 10 minutes on two processors
    python -m benchmarks.behaviour --every 9            # each ninth
    python -m benchmarks.behaviour --published FOLDER   # FOLDER holds skills, at any depth

A published skill that is blocked counts as a false alarm. Times are wall time, beside the
load of the machine, and processor time inside the sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from metier.runtime.behaviour import BehaviourReport, observe_skill
from metier.scan import ScanVerdict, scan
from metier.sources import DiskFiles
from metier.spec import MemoryFiles
from runtime.behaviour.attacks import attacks


def verdict_of(report: BehaviourReport) -> ScanVerdict:
    return max((finding.verdict for finding in report.findings), key=lambda verdict: verdict.rank, default=ScanVerdict.PASS)


def measure_attacks(every: int) -> None:
    rows: dict[str, Counter[str]] = {}
    missed = []
    for attack in list(attacks())[::every]:
        files = MemoryFiles({path: text.encode() for path, text in attack.files.items()})
        is_read = scan(files, folder="count-notes").verdict is ScanVerdict.BLOCK
        is_seen = verdict_of(asyncio.run(observe_skill(files, "count-notes"))) is ScanVerdict.BLOCK
        if not is_seen:
            missed.append(attack.name)
        for key in (attack.disguise, attack.language, "all"):
            row = rows.setdefault(key, Counter())
            row.update(n=1, read=int(is_read), seen=int(is_seen), left=int(not is_read), rest=int(is_seen and not is_read))
    print("| our attacks | n | blocked by reading | blocked by running | of those that reading misses |")
    print("|---|---:|---:|---:|---:|")
    for key, row in rows.items():
        print(f"| {key} | {row['n']} | {row['read']} | {row['seen']} | {row['rest']} of {row['left']} |")
    print("missed:", *(missed or ["none"]), sep="\n  ")


def measure_published(folder: str, most: int) -> None:
    verdicts: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    seconds, processor = [], []
    for number, path in enumerate(sorted(Path(folder).rglob("SKILL.md"))[:most]):
        started = time.monotonic()
        report = asyncio.run(observe_skill(DiskFiles(str(path.parent)), path.parent.name))
        seconds.append(time.monotonic() - started)
        processor.append(report.cpu)
        verdict = verdict_of(report)
        verdicts[verdict.value] += 1
        outcomes[report.outcome.value] += 1
        for finding in report.findings:
            if finding.verdict is not ScanVerdict.PASS:
                print(f"  {number} {path.parent.name}: {finding.verdict} {finding.code} {finding.message}", flush=True)
    print(f"{len(seconds)} published skills: {dict(verdicts)}, {dict(outcomes)}; load {os.getloadavg()[0]:.1f}")
    print("| | median | p95 | most |")
    print("|---|---:|---:|---:|")
    for name, values in (("seconds", seconds), ("processor seconds", processor)):
        print(f"| {name} | {statistics.median(values):.1f} | {_percentile(values, 0.95):.1f} | {max(values):.1f} |")


def _percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="run each nth attack")
    parser.add_argument("--published", metavar="FOLDER", help="run these skills instead of the attacks")
    parser.add_argument("--most", type=int, default=400, help="of the published skills")
    chosen = parser.parse_args(arguments)
    if chosen.published:
        measure_published(chosen.published, chosen.most)
    else:
        measure_attacks(chosen.every)


if __name__ == "__main__":
    main(sys.argv[1:])
