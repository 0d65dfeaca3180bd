"""No test depends on the speed of the machine: only `guards` and the scripted servers read a clock."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "thread_time"}


def readings(file: Path) -> list[str]:
    """Every use of a clock that measures time, as `file:line`. The date (`time.time`) is a value like any other."""
    return [
        f"{file.relative_to(TESTS)}:{node.lineno}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in CLOCKS) or (isinstance(node, ast.Name) and node.id in CLOCKS)
    ]


def test_no_test_reads_the_clock() -> None:
    files = [
        file
        for file in TESTS.rglob("*.py")
        if file not in (TESTS / "guards.py", Path(__file__)) and "node_modules" not in file.parts
    ]
    found = [reading for file in files for reading in readings(file)]
    assert not found, "use `guards.eventually` or `guards.within_cpu_limit`, or count the work: " + ", ".join(sorted(found))
