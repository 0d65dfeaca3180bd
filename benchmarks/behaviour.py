"""Runs our inert attacks, and published skills if a folder of them is given, and prints what behaviour finds.

    python -m benchmarks.behaviour                      # 198 attacks: 10 minutes on two processors
    python -m benchmarks.behaviour --every 9            # each ninth
    python -m benchmarks.behaviour --published FOLDER   # FOLDER holds skills, at any depth
    python -m benchmarks.behaviour --reports            # three reports: in the terminal, and on the registry's page

A published skill that is blocked counts as a false alarm. Times are wall time, beside the
load of the machine, and processor time inside the sandbox.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from metier.app import RUN_UPLOADS
from metier.archive import pack
from metier.cli.core.terminal import Terminal
from metier.cli.skill.scan import report_lines
from metier.registry.domain.rescans import named_scanner, record_rescan, rescan_archive
from metier.runtime.behaviour import BehaviourReport, observe_skill, with_behaviour
from metier.scan import ScanVerdict, scan
from metier.sources import DiskFiles
from metier.spec import MemoryFiles
from registry.builders import site
from runtime.behaviour.attacks import attacks, honest_skills


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


def show_reports() -> None:
    """Prints what a thief, a sleeper and an honest skill do: as `metier skill scan --run` and as a registry's page show it."""
    ours = {(one.technique, one.language, one.disguise): one.files for one in attacks()}
    skills = {
        "a thief": ("count-notes", ours["key to a web server", "python", "plain"]),
        "a sleeper": ("count-notes", ours["environment to a web server", "shell", "delayed"]),
        "an honest skill": ("forecast", dict(honest_skills())["sends its own key to its own service"]),
    }
    for title, (name, texts) in skills.items():
        files = MemoryFiles({path: text.encode() for path, text in texts.items()})
        seen = asyncio.run(observe_skill(files, name))
        report = with_behaviour(scan(files, folder=name), seen)
        print(f"{title}\n\n$ metier skill scan {name} --run")
        print("\n".join(report_lines(name, f"./{name}", report, Terminal(), seen)))
        print(f"\nthe security page of {name}\n\n{page_text(name, files)}\n")


def page_text(name: str, files: MemoryFiles) -> str:
    """Returns the text of a version's security page, after a registry that runs uploads has scanned it again."""
    with tempfile.TemporaryDirectory() as folder, site(Path(folder)) as here:
        answer = here.post("/skills?visibility=public", token=here.admin, content=pack(files))
        version = answer.json()["version"]
        result = rescan_archive(named_scanner(RUN_UPLOADS), pack(files), name)
        package = here.call(here.registry.store.find_package, "skill", name)
        release = here.call(here.registry.store.any_release, package.id, version)
        here.call(record_rescan, here.registry.store, package, release, result, at=here.clock())
        page = here.get(f"/skill/{name}/security?version={version}", headers={"accept": "text/html"}).text
    main = page.partition("</nav>")[2].partition('<nav class="tabs"')
    panel = main[2].partition("</nav>")[2].partition("<h2>Signatures</h2>")[0]
    text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</(?:p|li|h2|tr|div)>", "\n", panel)))
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="run each nth attack")
    parser.add_argument("--published", metavar="FOLDER", help="run these skills instead of the attacks")
    parser.add_argument("--most", type=int, default=400, help="of the published skills")
    parser.add_argument("--reports", action="store_true", help="show three reports")
    chosen = parser.parse_args(arguments)
    if chosen.reports:
        show_reports()
    elif chosen.published:
        measure_published(chosen.published, chosen.most)
    else:
        measure_attacks(chosen.every)


if __name__ == "__main__":
    main(sys.argv[1:])
