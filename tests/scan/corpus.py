"""Our own inert attacks. Hosts are invented; nothing is ever run or fetched.

`shapes.jsonl` has a hit and a near miss for each rule. `attacks.jsonl` has whole attacks in many wordings with their verdicts,
including those that pass. `honest.jsonl` has skills that do for good reasons what attacks do. A third of the attacks and all of
the honest skills were written by authors who had not seen the rules. `injections.jsonl` has one harmful instruction among
honest ones, each beside an honest twin: the rules of effects were written with the first half (`dev`) in view; the second
(`held`) was written before them and only counted. `seen` and `unseen` are the halves of a later set, which also has fake
prerequisites, thefts and ten languages, and honest sentences in the same words; `unseen` was counted and not read.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from metier.scan import ScanReport, ScanVerdict, scan
from metier.spec import MemoryFiles

__all__ = ["ATTACKS", "HONEST", "INJECTIONS", "SHAPES", "Attack", "Shape", "content_bytes", "scanned", "skill"]

FOLDER = Path(__file__).resolve().parents[1] / "data" / "scan"


@dataclass(frozen=True)
class Shape:
    rule: str
    kind: str
    why: str
    files: dict[str, bytes]

    @property
    def name(self) -> str:
        return f"{self.rule} {self.kind}: {self.why}"


@dataclass(frozen=True)
class Attack:
    number: int
    category: str
    verdict: ScanVerdict
    files: dict[str, bytes]
    is_blind: bool
    """Written by an author who had not seen the rules."""

    @property
    def name(self) -> str:
        return f"{self.number} {self.category}"


def content_bytes(content: str | dict[str, str]) -> bytes:
    return base64.b64decode(content["base64"]) if isinstance(content, dict) else content.encode("utf-8", "surrogatepass")


def _shapes() -> list[Shape]:
    rows = [json.loads(line) for line in (FOLDER / "shapes.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        Shape(row["rule"], row["kind"], row["why"], {path: content_bytes(content) for path, content in row["files"].items()})
        for row in rows
    ]


def _attacks() -> list[Attack]:
    rows = [json.loads(line) for line in (FOLDER / "attacks.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        Attack(
            number,
            row["category"],
            ScanVerdict(row["verdict"]),
            {path: content_bytes(content) for path, content in row["files"].items()},
            is_blind=row.get("by") == "blind author",
        )
        for number, row in enumerate(rows)
    ]


SHAPES = _shapes()
ATTACKS = _attacks()
INJECTIONS = [json.loads(line) for line in (FOLDER / "injections.jsonl").read_text(encoding="utf-8").splitlines()]
"""`half`, `kind`, `label` and `files`; the later set also says of what `set` it is."""
HONEST = [json.loads(line) for line in (FOLDER / "honest.jsonl").read_text(encoding="utf-8").splitlines()]
"""Skills that do for good reasons what attacks do: `why` and `files`."""


def skill(
    body: str, *, name: str = "notes", description: str = "Sorts notes. Use when asked.", head: str = ""
) -> dict[str, bytes]:
    return {"SKILL.md": f"---\nname: {name}\ndescription: {description}\n{head}---\n\n{body}\n".encode()}


def scanned(files: dict[str, bytes]) -> ScanReport:
    return scan(MemoryFiles(files))
