"""Every dataclass in src/metier comes from `metier.values`; an exception says why on its import line."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "metier"
DEFINING = {"dataclass", "field", "replace", "make_dataclass"}


def standard_imports(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    lines = text.splitlines()
    return [
        f"{file.relative_to(SOURCE).as_posix()}:{getattr(node, 'lineno', 0)}"
        for node in ast.walk(ast.parse(text))
        if is_standard(node) and "#" not in lines[getattr(node, "lineno", 0) - 1]
    ]


def is_standard(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "dataclasses" and bool(DEFINING & {alias.name for alias in node.names})
    return isinstance(node, ast.Import) and "dataclasses" in {alias.name for alias in node.names}


def test_dataclasses_come_from_metier_values() -> None:
    files = [file for file in SOURCE.rglob("*.py") if "bundled" not in file.parts and file != SOURCE / "values.py"]
    found = [place for file in files for place in standard_imports(file)]
    assert sorted(found) == []
