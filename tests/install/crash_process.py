"""An installer that is killed at every point at which it can be, and what it leaves.

    python tests/install/crash_process.py

prints the table: for each point of each scenario whether the old or the new state stands, before and after the repair. A
point is a call of `at` inside `apply`; a first run counts them. One process that has imported everything forks a child for
each point, and the child sends itself the signal there, so that nothing is cleaned up that `kill -9` would not clean up.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from install.builders import FakeFetcher, fetched, installed, prepared, snapshot, store_in
from metier.install.lock.verify import LockCondition, verify
from metier.install.transaction.doctor import find_leftovers, repair
from metier.install.transaction.journal import Checkpoint, ignore_checkpoint
from metier.install.transaction.steps import Edits
from metier.install.updates import update

__all__ = ["SCENARIOS", "Crash", "crashes"]


def _nothing(_root: Path) -> None:
    pass


def _two_skills(root: Path) -> None:
    installed(store_in(root), prepared("pdf"), prepared("docx"), targets=("claude-code", "codex"))


def _two_skills_one_edited(root: Path) -> None:
    _two_skills(root)
    (root / "home/.agents/skills/pdf/SKILL.md").write_text("---\nname: pdf\ndescription: Mine.\n---\n")


def _for_metier_alone(root: Path) -> None:
    installed(store_in(root), prepared("pdf"))


def _install(root: Path, checkpoint: Checkpoint) -> None:
    installed(
        store_in(root, checkpoint=checkpoint),
        prepared("pdf"),
        prepared("docx", links=[("l.md", "SKILL.md")]),
        targets=("claude-code", "codex"),
    )


def _update(root: Path, checkpoint: Checkpoint) -> None:
    new = {"references/new.md": b"new\n"}
    installed(
        store_in(root, checkpoint=checkpoint), prepared("pdf", body="Newer.\n", files=new), prepared("docx", body="Newer.\n")
    )


def _update_and_keep(root: Path, checkpoint: Checkpoint) -> None:
    installed(
        store_in(root, checkpoint=checkpoint),
        prepared("pdf", body="Newer.\n"),
        prepared("docx", body="Newer.\n"),
        edits=Edits.KEEP,
    )


def _merge(root: Path, checkpoint: Checkpoint = ignore_checkpoint) -> None:
    newer = FakeFetcher(fetched("pdf", body="Newer.\n"), locked=[fetched("pdf")])
    (found,), _ = update(store_in(root, checkpoint=checkpoint), newer, ["pdf"])
    assert found.conflicts


def _two_skills_one_merged(root: Path) -> None:
    _two_skills_one_edited(root)
    _merge(root)


def _abort(root: Path, checkpoint: Checkpoint) -> None:
    store_in(root, checkpoint=checkpoint).abort_merge("pdf")


def _move(root: Path, checkpoint: Checkpoint) -> None:
    installed(store_in(root, checkpoint=checkpoint), prepared("pdf"), targets=("claude-code",))


def _remove(root: Path, checkpoint: Checkpoint) -> None:
    store_in(root, checkpoint=checkpoint).remove(["pdf", "docx"])


def _pin(root: Path, checkpoint: Checkpoint) -> None:
    store_in(root, checkpoint=checkpoint).change(["pdf"], lambda entry: replace(entry, pinned=True))


Scenario = tuple[Callable[[Path], None], Callable[[Path, Checkpoint], None]]
SCENARIOS: dict[str, Scenario] = {
    "install two skills for two agents": (_nothing, _install),
    "update two skills": (_two_skills, _update),
    "update an edited skill with --keep": (_two_skills_one_edited, _update_and_keep),
    "merge an edited skill, with conflicts": (_two_skills_one_edited, _merge),
    "abort a merge of an edited skill": (_two_skills_one_merged, _abort),
    "move a skill to where agents look": (_for_metier_alone, _move),
    "remove two skills": (_two_skills, _remove),
    "pin a skill": (_two_skills, _pin),
}


@dataclass(frozen=True)
class Crash:
    scenario: str
    number: int
    point: str
    status: int
    """How the installer ended, as `os.waitstatus_to_exitcode` has it: -9 for killed."""
    whole: bool
    """Each skill, link and lock is entirely the old one or the new one, before any repair."""
    left: int
    """Things that were left behind."""
    after: str
    """old or new, once repaired; anything else is a mix."""
    clean: bool
    """After the repair nothing is left, and the lock agrees with the disk."""


def crashes(scenario: str, folder: Path, *, by: signal.Signals = signal.SIGKILL) -> Iterator[Crash]:
    """Every crash of one scenario, each in a copy of its own below `folder`."""
    words = [sys.executable, __file__, "--drive", scenario, str(folder), str(int(by))]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    old, new = snapshot(folder / "old"), snapshot(folder / "new")
    for number, (point, status) in enumerate(json.loads(done.stdout)):
        yield _judged(scenario, folder / f"at-{number}", number, point, status, old, new)


def _judged(scenario: str, root: Path, number: int, point: str, status: int, old: dict[str, str], new: dict[str, str]) -> Crash:
    now = snapshot(root)
    scope = store_in(root).scope
    left = len(find_leftovers(scope))
    whole = all(
        _part(now, unit) in (_part(old, unit), _part(new, unit)) for unit in {_unit(path) for path in (*now, *old, *new)}
    )
    repair(scope)
    after = snapshot(root)
    state = "old" if after == old else "new" if after == new else "a mix"
    rubbish = list(root.rglob(".metier-*"))
    conditions = {verdict.condition for verdict in verify(store_in(root))}
    # What was edited before is still edited if nothing happened, and after a merge.
    agrees = conditions <= {LockCondition.OK} or (
        "edited" in scenario
        and (state == "old" or "merge" in scenario)
        and conditions == {LockCondition.OK, LockCondition.EDITED}
    )
    return Crash(scenario, number, point, status, whole, left, state, not rubbish and not find_leftovers(scope) and agrees)


def _unit(path: str) -> str:
    """Returns what must change in one step: a skill's folder, a link, the lock."""
    parts = Path(path).parts
    at = next((number for number, part in enumerate(parts) if part in ("skills", "plugins", "kept")), None)
    return "/".join(parts[: at + 2]) if at is not None else path


def _part(found: dict[str, str], unit: str) -> dict[str, str]:
    return {path: text for path, text in found.items() if _unit(path) == unit}


def drive(scenario: str, folder: Path, by: int) -> list[tuple[str, int]]:
    before, act = SCENARIOS[scenario]
    base = folder / "base"
    (base / "home/.metier").mkdir(parents=True)
    before(base)
    points: list[str] = []
    _in_place(base, folder, "new", lambda root: act(root, points.append))
    _in_place(base, folder, "old", _nothing)
    return [
        (point, _in_place(base, folder, f"at-{number}", partial(_dying, act=act, number=number, by=by)))
        for number, point in enumerate(points)
    ]


def _in_place(base: Path, folder: Path, name: str, act: Callable[[Path], int | None]) -> int:
    target = folder / name
    shutil.copytree(base, target, symlinks=True)
    return act(target) or 0


def _dying(root: Path, act: Callable[[Path, Checkpoint], None], number: int, by: int) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    count = 0

    def at(point: str) -> None:
        nonlocal count
        if count == number:
            os.kill(os.getpid(), by)
        count += 1
        ignore_checkpoint(point)

    try:
        act(root, at)
    except KeyboardInterrupt:
        os._exit(130)
    os._exit(0)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, scenario in enumerate(SCENARIOS):
            _say(
                f"\n{scenario}\n\n| # | killed after | whole | left behind | after repair | clean |\n|--:|---|---|--:|---|---|"
            )
            for crash in crashes(scenario, Path(folder, str(number))):
                whole, clean = ("yes" if each else "NO" for each in (crash.whole, crash.clean))
                _say(f"| {crash.number + 1} | {crash.point} | {whole} | {crash.left} | {crash.after} | {clean} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        _say(json.dumps(drive(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))))
    else:
        main()
