"""Our own inert attack shapes: a hit and a near miss for each rule. Hosts are invented; nothing is ever run or fetched."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from metier.scan import ScanReport, scan
from metier.spec import MemoryFiles

__all__ = ["SHAPES", "Shape", "scanned", "skill"]

FILE = Path(__file__).resolve().parents[1] / "data" / "scan" / "shapes.jsonl"


@dataclass(frozen=True)
class Shape:
    rule: str
    kind: str
    why: str
    files: dict[str, bytes]

    @property
    def name(self) -> str:
        return f"{self.rule} {self.kind}: {self.why}"


def _bytes(content: str | dict[str, str]) -> bytes:
    return base64.b64decode(content["base64"]) if isinstance(content, dict) else content.encode("utf-8", "surrogatepass")


def _shapes() -> list[Shape]:
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [
        Shape(row["rule"], row["kind"], row["why"], {path: _bytes(content) for path, content in row["files"].items()})
        for row in rows
    ]


SHAPES = _shapes()


def skill(
    body: str, *, name: str = "notes", description: str = "Sorts notes. Use when asked.", head: str = ""
) -> dict[str, bytes]:
    return {"SKILL.md": f"---\nname: {name}\ndescription: {description}\n{head}---\n\n{body}\n".encode()}


def scanned(files: dict[str, bytes]) -> ScanReport:
    return scan(MemoryFiles(files))
