"""The time that a prompt hook adds, against `python -c "import numpy"` of the same interpreter.

An agent starts `metier hook run` for every prompt and waits for it. Measured with 1,000 skills, warm, after one of them has
changed, and for a prompt that is a command of the agent. The targets are for the wall time that the user waits: the median at
most 2.0 times that of importing numpy, the 95th percentile at most 3.0 times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.corpus import make_skills, scratch, toucher
from benchmarks.measure import Report, Target, child_environment, options, script

_SKILLS = 1_000
_FLOOR = 'python -c "import numpy"'
_WARM, _CHANGED, _COMMAND = "a prompt", "a prompt after a change", "a command of the agent"


def main() -> int:
    chosen = options(__doc__, rounds=100, quick=20)
    report = Report("The prompt hook", as_json=chosen.json)
    with scratch() as home:
        times = _measure(home, chosen.rounds)
    rows = [
        (name, f"{_percentile(found, 50):.0f}", f"{_percentile(found, 95):.0f}", f"{min(found):.0f}")
        for name, found in times.items()
    ]
    report.add_table(
        f"Wall time with {_SKILLS:,} skills, in ms, {chosen.rounds} rounds in turn", ("what", "p50", "p95", "minimum"), rows
    )
    for name in (_WARM, _CHANGED):
        for percent, limit in ((50, 2.0), (95, 3.0)):
            ratio = _percentile(times[name], percent) / _percentile(times[_FLOOR], percent)
            report.targets.append(Target(what=f"{name}, p{percent}", value=ratio, limit=limit))
    return report.finish()


def _measure(home: Path, rounds: int) -> dict[str, list[float]]:
    skills = make_skills(home / ".claude" / "skills", _SKILLS)
    (home / "project").mkdir()
    environment = child_environment(home)
    hook = (script("metier"), "hook", "run", "claude-code")
    subprocess.run((script("metier"), "hook", "install", "claude-code"), env=environment, check=True, stdout=subprocess.DEVNULL)
    change = toucher(skills)
    runs: dict[str, tuple[Sequence[str], str, Callable[[], object]]] = {
        _FLOOR: ((sys.executable, "-c", "import numpy"), "", lambda: None),
        _WARM: (hook, "extract the tables of this invoice", lambda: None),
        _CHANGED: (hook, "extract the tables of this invoice", change),
        _COMMAND: (hook, "/clear", lambda: None),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(-2, rounds):
        for name, (words, prompt, prepare) in runs.items():
            prepare()
            payload = json.dumps({"prompt": prompt, "cwd": str(home / "project"), "session_id": f"{name}{number}"}).encode()
            started = time.perf_counter()
            subprocess.run(words, input=payload, env=environment, stdout=subprocess.DEVNULL, check=True)
            if number >= 0:
                times[name].append((time.perf_counter() - started) * 1000)
            _wait_for_refresh(home)
    return times


def _wait_for_refresh(home: Path) -> None:
    """Waits until no refresh runs behind the prompt: it would slow the next contender."""
    import fcntl

    time.sleep(0.02)
    file = home / ".metier" / "router" / "refresh.lock"
    if file.exists():
        descriptor = os.open(file, os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)


def _percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(len(ordered) * percent / 100))]


if __name__ == "__main__":
    sys.exit(main())
