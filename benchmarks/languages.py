"""Requests in eight languages for English skills, beside the same requests in English.

The requests of benchmarks/data/languages.jsonl were written for this benchmark; their skills are the bundled ones and those of
the data that training/README.md describes (--data FOLDER, or METIER_DATA). Without the data, only the bundled skills are
searched. The requests are split into two halves by a hash of the English one; the second half was not used for tuning.

    uv run python benchmarks/languages.py [--half 1] [--json]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Report, Target
from metier.selection import Selector
from metier.sources import BUNDLED, discover
from metier.sources.selection_index import IndexedSkill
from training.labels import Plain, data_folder, read_corpus

DATA = Path(__file__).resolve().parent / "data"
LANGUAGES = ("de", "es", "fr", "ja", "ko", "pt", "ru", "zh")
OWN = "bundled"


@dataclass(frozen=True)
class Request:
    skill: str
    english: str
    by_language: dict[str, str]

    @property
    def half(self) -> int:
        return 1 + hashlib.blake2b(self.english.encode(), digest_size=1).digest()[0] % 2

    @property
    def publisher(self) -> str:
        return self.skill.split("#")[0]


@dataclass(frozen=True)
class Found:
    first: float
    five: float
    activated: float
    """The right skill is activated."""
    wrong: float
    """Skills that are activated and are not the right one."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the training data; see training/README.md")
    parser.add_argument("--half", type=int, choices=(1, 2), help="one half only; the first is for tuning")
    parser.add_argument("--misses", action="store_true", help="list what is not found among the first five in its own library")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    options = parser.parse_args()
    libraries = read_libraries(data_folder(options.data))
    requests = [one for one in read_requests() if one.publisher in libraries]
    report = Report(f"Requests in {len(LANGUAGES)} languages, {len(requests)} skills", as_json=options.json)
    for half in (options.half,) if options.half else (1, 2):
        mine = [one for one in requests if one.half == half]
        for setting in ("own", "all"):
            table(report, libraries, mine, half, setting, misses=options.misses)
    unrelated(report, libraries)
    speed(report, libraries[OWN], requests)
    return report.finish()


def read_requests() -> list[Request]:
    rows = (json.loads(line) for line in (DATA / "languages.jsonl").read_text(encoding="utf-8").splitlines())
    return [Request(row["skill"], row["en"], {key: row[key] for key in LANGUAGES if key in row}) for row in rows]


def read_libraries(data: Path) -> dict[str, Selector]:
    """The bundled skills, each publisher's own, and all of them together."""
    entries = [IndexedSkill(entry) for entry in discover(BUNDLED).entries]
    bundled = [Plain(f"{OWN}#{entry.name}", entry.name, entry.description, entry.body) for entry in entries]
    skills = read_corpus(data)
    wanted = {one.publisher for one in read_requests()}
    by_publisher: dict[str, list[Plain]] = defaultdict(list)
    for skill in skills:
        by_publisher[skill.id.split("#")[0]].append(skill)
    found = {name: Selector(mine) for name, mine in by_publisher.items() if name in wanted}
    return found | {OWN: Selector(bundled), "all": Selector([*skills, *bundled])}


def table(
    report: Report, libraries: dict[str, Selector], requests: Sequence[Request], half: int, setting: str, *, misses: bool
) -> None:
    rows, ratios = [], []
    for language in (*LANGUAGES, ""):
        mine = [(one, text) for one in requests for key, text in one.by_language.items() if key == language or not language]
        foreign, english = [], []
        for one, text in mine:
            selector = libraries["all" if setting == "all" else one.publisher]
            foreign.append(ask(selector, text, one.skill))
            english.append(ask(selector, one.english, one.skill))
            if misses and setting == "own" and language and english[-1].five and not foreign[-1].five:
                print(f"missed: {language}: {text} [{one.skill}]", file=sys.stderr)
        figures = [statistics.mean(getattr(found, key) for found in side) for key in ("first", "five", "activated", "wrong")
                   for side in (english, foreign)]  # fmt: skip
        ratio = figures[3] / figures[2] if figures[2] else 1.0
        ratios.append(ratio)
        rows.append((language or "all", str(len(mine)), *(f"{100 * value:.1f}" for value in figures), f"{ratio:.2f}"))
    header = (
        "language",
        "requests",
        "R@1 en",
        "R@1",
        "R@5 en",
        "R@5",
        "activated en",
        "activated",
        "wrong en",
        "wrong",
        "R@5 ratio",
    )
    where = "whole library" if setting == "all" else "publisher's own library"
    report.add_table(f"Half {half}, {where}, %", header, rows)
    report.targets.append(
        Target(what=f"R@5 beside English, half {half}, {where}", value=ratios[-1], limit=0.7, unit="x", at_least=True)
    )


def ask(selector: Selector, text: str, skill: str) -> Found:
    ranked = selector.select(text, limit=5)
    active = [match.id for match in selector.select(text)]
    place = [match.id for match in ranked].index(skill) if skill in [match.id for match in ranked] else -1
    return Found(float(place == 0), float(place >= 0), float(skill in active), float(len(active) - (skill in active)))


def unrelated(report: Report, libraries: dict[str, Selector]) -> None:
    lines = [json.loads(line) for line in (DATA / "languages_unrelated.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = []
    for name in (OWN, "wshobson/agents", "all"):
        if name in libraries:
            fired = [line for line in lines if libraries[name].select(line["query"])]
            share = 100 * len(fired) / len(lines)
            rows.append((name, str(len(lines)), f"{share:.1f}", "; ".join(line["query"] for line in fired[:4])))
            report.targets.append(
                Target(what=f"unrelated requests that activate anything, {name}", value=share, limit=5, unit="%")
            )
    report.add_table("Unrelated requests", ("library", "requests", "activate anything, %", "for example"), rows)


def speed(report: Report, selector: Selector, requests: Sequence[Request]) -> None:
    """CPU time in the bundled library; every request is asked for the first time, after one that loads the table."""
    rows = []
    selector.select("Guten Tag, das ist ein Test", limit=5)
    for language in ("en", *LANGUAGES):
        texts = [one.english if language == "en" else one.by_language.get(language, "") for one in requests]
        times = sorted(_timed(selector, text) for text in texts if text)
        rows.append((language, f"{times[len(times) // 2]:.2f}", f"{times[int(len(times) * 0.95)]:.2f}"))
    report.add_table("Milliseconds of a request among the bundled skills", ("language", "p50", "p95"), rows)


def _timed(selector: Selector, text: str) -> float:
    begin = time.process_time()
    selector.select(text, limit=5)
    return 1000 * (time.process_time() - begin)


if __name__ == "__main__":
    sys.exit(main())
