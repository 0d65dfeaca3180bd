"""Every dataclass in src/metier comes from `metier.values`; an exception says why on its import line."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "metier"
DEFINING = {"dataclass", "field", "replace", "make_dataclass"}
# Packages that are not converted yet.
NOT_CONVERTED = frozenset({
    "adapters",
    "agents",
    "cli",
    "disclosure",
    "evals",
    "hosts",
    "install",
    "models",
    "registry",
    "runtime",
    "scan",
    "selection",
    "sources",
    "training",
})  # fmt: skip


def standard_imports(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    lines = text.splitlines()
    return [
        f"{file.relative_to(SOURCE).as_posix()}:{node.lineno}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if DEFINING & {alias.name for alias in node.names} and "#" not in lines[node.lineno - 1]
    ]


def test_dataclasses_come_from_metier_values() -> None:
    files = [file for file in SOURCE.rglob("*.py") if "bundled" not in file.parts and file != SOURCE / "values.py"]
    found = [place for file in files for place in standard_imports(file)]
    assert sorted(place for place in found if place.partition("/")[0] not in NOT_CONVERTED) == []
