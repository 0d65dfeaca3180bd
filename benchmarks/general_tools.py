"""The cost of one call of a general tool, over a bare subprocess that does the same in the same run.

    python benchmarks/general_tools.py [--calls 20] [--files 2000]

A call asks the policy, starts the sandbox with the workspace mounted, and runs a small program in it. The floor is a plain
`python3 -I` (or `bash`) subprocess with the same program and request, without any confinement.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import metier
from metier.runtime import Interpreters, Runner, Session, SessionOptions, SessionServices
from metier.runtime.tools.general import file_program

REQUEST = {
    "path": "", "globs": [], "hidden": False, "ignored": False, "offset": 0, "limit": 100, "literal": False, "case": "smart",
    "context": 0, "output": "lines", "characters": 100_000,
}  # fmt: skip
CALLS: dict[str, tuple[dict[str, Any], list[str], dict[str, Any] | None]] = {
    "read_file": ({"path": "folder0/file0.txt"}, [], {"do": "read", "path": "folder0/file0.txt", "offset": 1}),
    "list_files": ({"limit": 100}, [], {"do": "list"}),
    "search_files": ({"pattern": "needle"}, [], {"do": "search", "pattern": "needle"}),
    "run_command": ({"command": "true"}, ["bash", "-c", "true"], None),
    "run_code": ({"code": "pass"}, ["python3", "-I", "-c", "pass"], None),
}


def make_files(folder: Path, count: int) -> None:
    for number in range(count):
        file = folder / f"folder{number // 100}" / f"file{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"line {number}\n" * 20 + ("needle\n" if number % 500 == 0 else ""))


async def milliseconds(work: Callable[[], Awaitable[object]], calls: int) -> float:
    await work()
    times = []
    for _ in range(calls):
        started = time.perf_counter()
        await work()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


async def measure(folder: Path, calls: int) -> None:
    skills = folder / "skills/any"
    skills.mkdir(parents=True)
    (skills / "SKILL.md").write_text("---\nname: any\ndescription: Any.\nallowed-tools: Bash Python Read\n---\nAny.\n")
    session = Session(
        metier.discover(folder / "skills"), workspace=folder / "work", options=SessionOptions(general_tools=True),
        services=SessionServices(runner=Runner()),
    )  # fmt: skip
    session.activate("any")
    tools = {tool.name: tool for tool in session.tools()}
    # The interpreter that the sandbox uses, without a shim of pyenv before it.
    python = Interpreters().command("x.py", b"").words[0]
    sys.stdout.write("| tool | call, ms | bare subprocess, ms | over it, ms |\n|---|---|---|---|\n")
    for name, (arguments, words, request) in CALLS.items():
        bare = [python if word == "python3" else word for word in words or ["python3", "-I", file_program.__file__]]
        asked = json.dumps({**REQUEST, **request}).encode() if request else b""

        floor = partial(
            asyncio.to_thread, subprocess.run, bare, input=asked, capture_output=True, cwd=folder / "work", check=True
        )
        confined = await milliseconds(partial(tools[name].call, arguments), calls)
        plain = await milliseconds(floor, calls)
        sys.stdout.write(f"| {name} | {confined:.1f} | {plain:.1f} | {confined - plain:.1f} |\n")
    session.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--files", type=int, default=2000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        make_files(folder / "work", chosen.files)
        asyncio.run(measure(folder, chosen.calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
