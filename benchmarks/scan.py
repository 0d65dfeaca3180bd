"""The scan against cisco-ai-skill-scanner 2.3.2, the same skills in the same run: who finds what, and how fast.

    python -m benchmarks.scan [--quick] [--json]

The set is our own inert attack shapes (hits are malicious, near misses are not) and the bundled skills. Other labelled sets
can be measured by naming a folder in SCAN_SKILLS: one folder for each skill, those that are malicious named `malicious-*`.
The other scanner comes from PyPI into a folder of its own (658 MB) and runs without network or model.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

from benchmarks.measure import Contender, Report, Target, child_environment, compete, options, run, script
from benchmarks.peers import python_peer

ROOT = Path(__file__).resolve().parents[1]
CISCO = "cisco-ai-skill-scanner==2.3.2"
PROBE = Path(__file__).with_name("scan_probe.py")


def main() -> int:
    chosen = options(__doc__, rounds=5, quick=2)
    report = Report("scan", as_json=chosen.json)
    with tempfile.TemporaryDirectory() as place:
        home, skills = Path(place, "home"), Path(os.environ.get("SCAN_SKILLS") or Path(place, "skills"))
        home.mkdir()
        if "SCAN_SKILLS" not in os.environ:
            _write_shapes(skills)
        peer = python_peer(CISCO)
        answers = {
            "metier": _probe(sys.executable, "metier", skills, home),
            "cisco 2.3.2": _probe(str(peer / "python"), "cisco", skills, home),
        }
        report.add_table("Answers", ("scanner", "skills", "flagged", "precision", "recall", "median ms", "p95 ms"),
                         [_row(name, rows) for name, rows in answers.items()])  # fmt: skip
        ratio = _median(answers["metier"]) / _median(answers["cisco 2.3.2"])
        report.targets.append(Target(what="median time a skill against the other", value=ratio, limit=0.5))
        _cold(report, next(iter(sorted(skills.iterdir()))), home, chosen.rounds)
    return report.finish()


def _write_shapes(folder: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from scan.corpus import SHAPES

    for number, shape in enumerate(SHAPES):
        # The other scanner has no rule for what is only worth a note; such shapes are on neither side.
        label = "malicious" if shape.kind == "hit" else "benign"
        for path, data in shape.files.items():
            file = folder / f"{label}-{number:03}-{shape.rule.lower()}" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    for bundled in (ROOT / "src/metier/sources/bundled").iterdir():
        if (bundled / "SKILL.md").exists():
            shutil.copytree(bundled, folder / f"benign-{bundled.name}")


def _probe(python: str, kind: str, skills: Path, home: Path) -> dict[str, dict[str, object]]:
    import subprocess

    words = [python, str(PROBE), kind, str(skills)]
    done = subprocess.run(words, env=child_environment(home), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{kind} failed:\n{done.stderr[-2000:]}")
    rows: dict[str, dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def _row(name: str, rows: dict[str, dict[str, object]]) -> tuple[str, ...]:
    flagged = {skill for skill, row in rows.items() if row["flagged"] == "block"}
    bad = {skill for skill in rows if skill.startswith("malicious")}
    hits = len(flagged & bad)
    times = sorted(float(str(row["cpu"])) * 1000 for row in rows.values())
    precision = f"{hits / len(flagged):.2f}" if flagged else "-"
    recall = f"{hits / len(bad):.2f}" if bad else "-"
    return (
        name,
        str(len(rows)),
        str(len(flagged)),
        precision,
        recall,
        f"{median(times):.1f}",
        f"{quantiles(times, n=20)[-1]:.1f}",
    )


def _median(rows: dict[str, dict[str, object]]) -> float:
    return median(float(str(row["cpu"])) for row in rows.values())


def _cold(report: Report, skill: Path, home: Path, rounds: int) -> None:
    """The whole command, from start to exit, on one skill."""
    words = [script("metier"), "skill", "scan", str(skill), "--fail-on", "never"]
    ours = Contender(name="metier skill scan", measure=lambda: run(words, cwd=home, environment=child_environment(home)))
    figures = compete([ours], rounds=rounds)
    report.add_figures(figures)
    cold = figures["metier skill scan"].wall / 1000
    report.targets.append(Target(what="cold command", value=cold, limit=0.6, unit="s"))


if __name__ == "__main__":
    raise SystemExit(main())
