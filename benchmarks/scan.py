"""The scan against cisco-ai-skill-scanner 2.3.2, on the same skills in the same run: quality and speed.

    python -m benchmarks.scan [--quick] [--json] [--judge]

It measures our own inert attacks and near misses, attacks and honest skills by authors who had not seen the rules (`blind-`,
`honest`) and, where METIER_DATA names a folder with them, labelled examples and published skills. To measure another labelled
set, name its folder in SCAN_SKILLS, with each skill in `SET.malicious.NAME/FOLDER` or `SET.benign.NAME/FOLDER`. The other
scanner comes from PyPI into its own folder (658 MB) and runs without network or model. With `--judge` the model of your own
settings reads every skill too (`metier skill scan --judge`) and has rows of its own; its time and tokens are not compared.

Where tree-sitter and tree-sitter-bash are installed, the shell reader is compared with them on published skills.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.measure import Contender, Report, Target, child_environment, compete, options, run, script
from benchmarks.peers import python_peer
from metier.app import App
from metier.app.model_judge import JudgeCase, ModelJudge
from metier.cli.core.models import required_model
from metier.errors import MetierError
from metier.models import ModelChoice, ModelClient
from metier.scan import ScanReport, scan
from metier.scan.patterns import words
from metier.scan.readers.shell import pipelines
from metier.scan.rules.shell_commands import walk
from metier.sources import DiskFiles

ROOT = Path(__file__).resolve().parents[1]
COLLECTIONS = Path(os.environ.get("METIER_DATA") or ROOT / "benchmarks" / "data")
CISCO = "cisco-ai-skill-scanner==2.3.2"
PROBE = Path(__file__).with_name("scan_probe.py")
# Scanners read the folder's name; a label in it would be a hint.
_NEUTRAL = "notes"
# Our reader names the command after such a word, tree-sitter the word itself.
_PREFIXES = words("sudo doas env command nohup nice time builtin xargs timeout stdbuf setsid unbuffer coproc exec")
Rows = dict[str, dict[str, object]]


def main() -> int:
    chosen = options(__doc__, rounds=5, quick=2, flags={"judge": "also measure the model of your settings"})
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
        _speed(report, answers, {each.name: _bytes_in(each) for each in skills.iterdir()})
        _shell_reader(report)
        _cold(report, next(iter(sorted(skills.iterdir()))) / _NEUTRAL, home, chosen.rounds)
    return report.finish()


def _skills(*, every: int) -> Iterator[tuple[str, Mapping[str, bytes]]]:
    sys.path.insert(0, str(ROOT / "tests"))
    from scan.corpus import ATTACKS, HONEST, SHAPES

    for attack in ATTACKS:
        kind = "instructions" if attack.category in ("instruction", "instruction in context") else "attacks"
        yield f"{'blind-' if attack.is_blind else ''}{kind}.malicious.{attack.number:03}", attack.files
    for number, honest in enumerate(HONEST):
        yield f"honest.benign.{number:03}", {path: text.encode() for path, text in honest["files"].items()}
    for number, shape in enumerate(SHAPES):
        if shape.kind == "near":
            yield f"near-misses.benign.{number:03}", shape.files
    if not COLLECTIONS.exists():
        return
    for line in (COLLECTIONS / "scan" / "examples.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield f"examples.{row['label']}.{row['id']}", {path: text.encode() for path, text in row["files"].items()}
    with gzip.open(COLLECTIONS / "real-skills.jsonl.gz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            row = json.loads(line)
            if number % every == 0 and "skillscan" not in row["repo"] and "skill-scanner" not in row["repo"]:
                yield f"real.benign.{number:04}", {"SKILL.md": row["bytes"].encode("latin-1")}


def _shell_reader(report: Report) -> None:
    """Counts the shell blocks of published skills in which our reader finds every command that tree-sitter finds."""
    published = COLLECTIONS / "real-skills.jsonl.gz"
    if not (published.exists() and find_spec("tree_sitter") and find_spec("tree_sitter_bash")):
        return
    # By name: the type checker of this project does not know them.
    tree_sitter, bash = import_module("tree_sitter"), import_module("tree_sitter_bash")
    parser = tree_sitter.Parser(tree_sitter.Language(bash.language()))
    with gzip.open(published, "rt", encoding="utf-8") as file:
        pages = [json.loads(line)["bytes"].encode("latin-1").decode("utf-8", "replace") for line in file]
    blocks = {block for page in pages for block in re.findall(r"```(?:bash|sh|shell|zsh)\n(.{1,8000}?)```", page, re.DOTALL)}
    whole = total = 0
    for block in sorted(blocks):
        tree = parser.parse(block.encode())
        if tree.root_node.has_error or _PREFIXES & set(block.split()):
            continue
        total += 1
        ours = (one.words[0] for pipeline in pipelines(block) for one in walk(pipeline) if one.words)
        whole += not Counter(_tree_commands(tree.root_node, block.encode())) - Counter(map(_command_name, ours))
    report.add_table("Shell reader against tree-sitter", ("blocks", "all commands found"), [(str(total), _share(whole, total))])


def _tree_commands(root: Any, source: bytes) -> list[str]:
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        name = node.child_by_field_name("name") if node.type == "command" else None
        if node.type in ("declaration_command", "unset_command"):
            name = node.children[0]
        if name is not None:
            found.append(_command_name(source[name.start_byte : name.end_byte].decode("utf-8", "replace")))
        waiting.extend(node.children)
    return [name for name in found if name != "}"]


def _command_name(name: str) -> str:
    return name.removeprefix("$ ").replace('"', "").replace("'", "").rpartition("/")[2]


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
    """Returns the verdicts with the model's findings. Opinions are cached, so a second run asks only for the rest."""
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
        raise SystemExit("the model did not judge every skill; run it again to ask for the rest")
    return {case.name: {"flagged": report.verdict.value} for case, report in zip(cases, reports, strict=True)}


def _quality(report: Report, answers: Mapping[str, Rows]) -> None:
    """Tables the sets with the shares that each scanner blocks."""
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
    """Returns a share with its Wilson interval at 95 %."""
    if not whole:
        return "-"
    share, z = part / whole, 1.96
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return f"{share:.2f} ({max(0.0, middle - half):.2f}-{min(1.0, middle + half):.2f})"


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _speed(report: Report, answers: Mapping[str, Rows], sizes: Mapping[str, int]) -> None:
    """Tables the CPU time of each skill, over all and by size: large honest skills cost the most."""
    rows = []
    for low, high in ((0, None), (0, 4_000), (4_000, 16_000), (16_000, 64_000), (64_000, None)):
        for scanner, judged in answers.items():
            each = [_milliseconds(row) for name, row in judged.items() if low <= sizes[name] < (high or 1 << 40)]
            if len(each) > 1:
                span = "all" if not low and high is None else f"{low // 1000}-{high // 1000 if high else ''} kB"
                rate = f"{1000 / (sum(each) / len(each)):.0f}"
                rows.append((span, scanner, str(len(each)), f"{median(each):.1f}", f"{quantiles(each, n=20)[-1]:.1f}", rate))
    report.add_table("CPU time for each skill", ("size", "scanner", "skills", "median ms", "p95 ms", "skills / s"), rows)
    ours, theirs = ([_milliseconds(row) for row in judged.values()] for judged in list(answers.values())[:2])
    report.targets.append(Target(what="median time a skill against the other", value=median(ours) / median(theirs), limit=0.5))
    report.targets.append(Target(what="CPU of all skills against the other", value=sum(ours) / sum(theirs), limit=0.5))


def _milliseconds(row: Mapping[str, object]) -> float:
    return float(str(row["cpu"])) * 1000


def _cold(report: Report, skill: Path, home: Path, rounds: int) -> None:
    """Measures the whole command on one skill."""
    words = [script("metier"), "skill", "scan", str(skill), "--fail-on", "never"]
    ours = Contender(name="metier skill scan", measure=lambda: run(words, cwd=home, environment=child_environment(home)))
    figures = compete([ours], rounds=rounds)
    report.add_figures(figures)
    cold = figures["metier skill scan"].cpu / 1000
    report.targets.append(Target(what="cold command, CPU", value=cold, limit=0.6, unit="s"))


if __name__ == "__main__":
    raise SystemExit(main())
