"""Runs inside the sandbox: one pytest file of a skill, in the skill's folder, with its scripts/ importable.

Reads {"folder", "file", "paths"} as JSON from standard input and leaves report.json in the scratch folder: a file and not
standard output, which belongs to the tests.
"""

import json
import os
import sys
from typing import Any

Report = Any  # pytest's own, which this file may not be able to import


class Watcher:
    """A plugin that notes what came of each test."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def pytest_load_initial_conftests(self) -> None:
        # pytest keeps rewritten tests as bytecode. It must not read any from the skill; its own modules are loaded by now.
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"]

    def pytest_runtest_logreport(self, report: Report) -> None:
        name = report.nodeid.partition("::")[2]
        row = self.rows.setdefault(report.nodeid, {"name": name, "status": "passed", "seconds": 0.0})
        row["seconds"] += report.duration
        row["line"] = (report.location[1] or 0) + 1
        if report.failed:
            row["status"] = "failed" if report.when == "call" else "error"
            row["message"] = report.longreprtext[-20_000:]
        elif report.skipped:
            expected = hasattr(report, "wasxfail")
            row["status"] = "skipped"
            row["message"] = f"expected to fail: {report.wasxfail}" if expected else str(report.longrepr[2])

    def pytest_collectreport(self, report: Report) -> None:
        if report.failed:
            # The error, without the way that pytest took to it.
            lines = report.longreprtext[-20_000:].split("\n")
            said = "\n".join(line[1:].strip() for line in lines if line.startswith("E ")) or "\n".join(lines)
            self.rows[report.nodeid] = {"name": "", "status": "error", "seconds": 0.0, "message": said}


def main() -> None:
    plan = json.load(sys.stdin)
    try:
        import pytest
    except ImportError:
        tell({"missing": sys.executable})
        return
    os.chdir(plan["folder"])
    scripts = os.path.join(plan["folder"], "scripts")
    sys.path[:0] = [scripts] if os.path.isdir(scripts) else []
    sys.path += plan["paths"].get("PYTHONPATH", [])
    os.environ.update({name: os.pathsep.join(folders) for name, folders in plan["paths"].items()})
    watcher = Watcher()
    # Nothing of the machine's own pytest configuration: a skill's tests mean the same everywhere.
    words = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", plan["folder"], "--import-mode=importlib"]
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", SKILL_DIR=plan["folder"])
    code = pytest.main([*words, plan["file"]], plugins=[watcher])
    tell({"code": int(code), "tests": list(watcher.rows.values())})


def tell(report: dict[str, Any]) -> None:
    with open(os.path.join(os.environ["HOME"], "report.json"), "w", encoding="utf-8") as file:
        json.dump(report, file)


main()
