"""The scan against cisco-ai-skill-scanner 2.3.2, the same skills in the same run: who finds what, and how fast.

    python -m benchmarks.scan [--quick] [--json] [--judge]

Measured are our own inert attacks and near misses, attacks and honest skills by somebody who had not seen the rules (`blind-`,
`honest`) and, where ../shared/data is there, labelled examples and real skills. Other labelled sets can be measured by naming a
folder in SCAN_SKILLS: each skill in a folder
`SET.malicious.NAME/FOLDER` or `SET.benign.NAME/FOLDER`. The other scanner comes from PyPI into a folder of its own (658 MB)
and runs without network or model. With `--judge` the model of your own settings reads every skill as well (`metier skill scan
--judge`) and stands in rows of its own; what it costs in time and tokens is the provider's, and is not compared.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles

from benchmarks.measure import Contender, Report, Target, child_environment, compete, options, run, script
from benchmarks.peers import python_peer
from metier.app import App
from metier.app.model_judge import JudgeCase, ModelJudge
from metier.cli.core.models import required_model
from metier.errors import MetierError
from metier.models import ModelChoice, ModelClient
from metier.scan import ScanReport, scan
from metier.sources import DiskFiles

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
CISCO = "cisco-ai-skill-scanner==2.3.2"
PROBE = Path(__file__).with_name("scan_probe.py")
# A scanner is told the folder's name; a label in it would be a hint.
_NEUTRAL = "notes"
Rows = dict[str, dict[str, object]]


def main() -> int:
    chosen = options(__doc__, rounds=5, quick=2, flags={"judge": "also measure the model of your settings, apart"})
    judge = _judge() if chosen.judge else None
    report = Report("scan", as_json=chosen.json)
    with tempfile.TemporaryDirectory() as place:
        home, skills = Path(place, "home"), Path(os.environ.get("SCAN_SKILLS") or Path(place, "skills"))
        home.mkdir()
        if "SCAN_SKILLS" not in os.environ:
            for name, files in _skills(every=30 if chosen.quick else 8):
                _write(skills / name / _NEUTRAL, files)
        answers = {
            "metier": _probe(sys.executable, "metier", skills, home),
            "cisco 2.3.2": _probe(str(python_peer(CISCO) / "python"), "cisco", skills, home),
        }
        _quality(report, answers if judge is None else {**answers, f"metier, {judge.name}": _asked(judge, skills)})
        _speed(report, answers)
        _cold(report, next(iter(sorted(skills.iterdir()))) / _NEUTRAL, home, chosen.rounds)
    return report.finish()


def _skills(*, every: int) -> Iterator[tuple[str, Mapping[str, bytes]]]:
    sys.path.insert(0, str(ROOT / "tests"))
    from scan.corpus import ATTACKS, HONEST, SHAPES

    for attack in ATTACKS:
        kind = "instructions" if attack.category in ("instruction", "order in context") else "attacks"
        yield f"{'blind-' if attack.is_blind else ''}{kind}.malicious.{attack.number:03}", attack.files
    for number, honest in enumerate(HONEST):
        yield f"honest.benign.{number:03}", {path: text.encode() for path, text in honest["files"].items()}
    for number, shape in enumerate(SHAPES):
        if shape.kind == "near":
            yield f"near-misses.benign.{number:03}", shape.files
    if not SHARED.exists():
        return
    for line in (SHARED / "scan" / "examples.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield f"examples.{row['label']}.{row['id']}", {path: text.encode() for path, text in row["files"].items()}
    with gzip.open(SHARED / "real-skills.jsonl.gz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            row = json.loads(line)
            if number % every == 0 and "skillscan" not in row["repo"] and "skill-scanner" not in row["repo"]:
                yield f"real.benign.{number:04}", {"SKILL.md": row["bytes"].encode("latin-1")}


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def _probe(python: str, kind: str, skills: Path, home: Path) -> Rows:
    words = [python, str(PROBE), kind, str(skills)]
    done = subprocess.run(words, env=child_environment(home), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{kind} failed:\n{done.stderr[-2000:]}")
    rows: Rows = json.loads(done.stdout.splitlines()[-1])
    return rows


def _judge() -> ModelChoice:
    try:
        model = required_model(App(), purpose="--judge")
    except MetierError as error:
        raise SystemExit(f"{error}; {error.hint}") from None
    return model


def _asked(judge: ModelChoice, skills: Path) -> Rows:
    """The rules' verdicts with what the model adds. Opinions are kept in your cache, so a second run asks only what is new."""
    folders = sorted(inner for outer in skills.iterdir() for inner in outer.iterdir())
    cases = [
        JudgeCase(each.parent.name, DiskFiles(str(each)), scan(DiskFiles(str(each)), folder=each.name)) for each in folders
    ]

    async def ask() -> tuple[list[ScanReport], list[str]]:
        async with ModelClient(judge) as model:
            judging = ModelJudge(model=model, choice=judge, cache=App().installation.cache)
            return await judging(cases), judging.notes

    reports, notes = asyncio.run(ask())
    for note in notes:
        print(note, file=sys.stderr)
    if any(report.opinion is None for report in reports):
        raise SystemExit("not every skill was judged, so there are no figures to show; run it again to ask for the rest")
    return {case.name: {"flagged": report.verdict.value} for case, report in zip(cases, reports, strict=True)}


def _quality(report: Report, answers: Mapping[str, Rows]) -> None:
    """For each set: how many are malicious and how many are not, and what each scanner blocks."""
    names = sorted({name.partition(".")[0] for name in next(iter(answers.values()))})
    rows = []
    for group in names:
        for scanner, judged in answers.items():
            mine = {name: row for name, row in judged.items() if name.startswith(f"{group}.")}
            bad = {name for name in mine if name.split(".")[1] == "malicious"}
            blocked = {name for name, row in mine.items() if row["flagged"] == "block"}
            doubted = {name for name, row in mine.items() if row["flagged"] == "review"}
            rows.append((group, f"{len(bad)} / {len(mine) - len(bad)}", scanner, _share(len(blocked & bad), len(bad)),
                         _share(len((blocked | doubted) & bad), len(bad)), _share(len(blocked - bad), len(mine) - len(bad)),
                         _share(len(blocked & bad), len(blocked))))  # fmt: skip
    report.add_table("Quality", ("set", "bad / good", "scanner", "recall", "with review", "false alarms", "precision"), rows)


def _share(part: int, whole: int) -> str:
    """A share with its Wilson interval at 95 %."""
    if not whole:
        return "-"
    share, z = part / whole, 1.96
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return f"{share:.2f} ({max(0.0, middle - half):.2f}-{min(1.0, middle + half):.2f})"


def _speed(report: Report, answers: Mapping[str, Rows]) -> None:
    times = {scanner: [float(str(row["cpu"])) * 1000 for row in rows.values()] for scanner, rows in answers.items()}
    rows = [
        (
            name,
            str(len(each)),
            f"{median(each):.1f}",
            f"{quantiles(each, n=20)[-1]:.1f}",
            f"{1000 / (sum(each) / len(each)):.0f}",
        )
        for name, each in times.items()
    ]
    report.add_table("CPU time for each skill", ("scanner", "skills", "median ms", "p95 ms", "skills / s"), rows)
    ours, theirs = times.values()
    report.targets.append(Target(what="median time a skill against the other", value=median(ours) / median(theirs), limit=0.5))


def _cold(report: Report, skill: Path, home: Path, rounds: int) -> None:
    """The whole command, from start to exit, on one skill."""
    words = [script("metier"), "skill", "scan", str(skill), "--fail-on", "never"]
    ours = Contender(name="metier skill scan", measure=lambda: run(words, cwd=home, environment=child_environment(home)))
    figures = compete([ours], rounds=rounds)
    report.add_figures(figures)
    cold = figures["metier skill scan"].cpu / 1000
    report.targets.append(Target(what="cold command, CPU", value=cold, limit=0.6, unit="s"))


if __name__ == "__main__":
    raise SystemExit(main())
