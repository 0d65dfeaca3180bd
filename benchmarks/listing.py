"""`metier skill list --json` against `gh skill list` and openskills, over 100, 1,000 and 10,000 skills.

All three list the same ./.claude/skills; a check first verifies that each lists every skill. metier is measured warm
(the second run), after a change (one skill is new) and cold (its cache removed). gh and openskills have no
cache, so each has one figure. gh is also run with its narrowest scope (`--dir`), because by default it looks for 48 agent
hosts. openskills reads one line of each file with a pattern and no YAML, so its figure is not quite like for like.

The targets, warm, against gh: faster at each size, and at 10,000 at most a quarter of its time. A ratio here is the worse of
CPU time and wall time: gh is a parallel program, and either clock alone would favour one side.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.corpus import make_skills, scratch, toucher
from benchmarks.measure import Contender, Figure, Report, Target, child_environment, compete, options, run, script
from benchmarks.peers import GH, OPENSKILLS, openskills, python_peer

_FIELDS = "skillName,path,scope,sourceURL,version"
_GH, _NARROW, _OPENSKILLS = "gh skill list", "gh skill list --dir", "openskills list"
_WARM, _CHANGED, _COLD = "metier, warm", "metier, after a change", "metier, cold"
_SKILLS = Path("project") / ".claude" / "skills"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    words: Sequence[str]
    listed: Callable[[bytes], int]
    """How many of our skills the output holds."""


def main() -> int:
    chosen = options(__doc__, rounds=11, quick=3)
    report = Report("Listing skills from the command line", as_json=chosen.json)
    tools = _tools()
    report.say(f"against {GH}, " + (OPENSKILLS if len(tools) > 3 else "openskills left out: npm is not here"))
    for size in (100, 1_000) if chosen.quick else (100, 1_000, 10_000):
        with scratch() as home:
            skills = make_skills(home / _SKILLS, size)
            _check(tools, home, size)
            figures = compete(_contenders(tools, home, skills), rounds=chosen.rounds)
        _tell(report, size, figures, chosen.rounds)
    return report.finish()


def _tools() -> list[Tool]:
    gh = str(python_peer(GH) / "gh")
    tools = [
        Tool(name=_WARM, words=(script("metier"), "skill", "list", "--json"), listed=_listed_by_metier),
        Tool(name=_GH, words=(gh, "skill", "list", "--json", _FIELDS), listed=_listed_by_gh),
        Tool(name=_NARROW, words=(gh, "skill", "list", "--dir", ".claude/skills", "--json", _FIELDS), listed=_listed_by_gh),
    ]
    node_tool = openskills()
    if node_tool:
        tools.append(Tool(name=_OPENSKILLS, words=(*node_tool, "list"), listed=_listed_by_openskills))
    return tools


def _listed_by_metier(output: bytes) -> int:
    return sum(row["source"] == "claude" and row["state"] == "enabled" for row in json.loads(output)["data"]["skills"])


def _listed_by_gh(output: bytes) -> int:
    return len(json.loads(output))


def _listed_by_openskills(output: bytes) -> int:
    return output.count(b"(project)")


def _check(tools: Sequence[Tool], home: Path, size: int) -> None:
    """Runs each twice, so that metier's cached listing is checked as well as its first one."""
    for tool in (*tools, *tools):
        done = subprocess.run(tool.words, cwd=home / "project", env=_environment(home), capture_output=True, check=True)
        if tool.listed(done.stdout) != size:
            raise SystemExit(f"{tool.name} lists {tool.listed(done.stdout)} of {size} skills")


def _contenders(tools: Sequence[Tool], home: Path, skills: Path) -> list[Contender]:
    metier = tools[0]
    changed, cold = home / "changed", home / "cold"
    # All look at one folder, so the change that one of them needs is news to the warm one too: it may look once before.
    look = partial(run, metier.words, cwd=home / "project", environment=_environment(home))
    return [
        Contender(name=_WARM, measure=look, prepare=look),
        _contender(metier, home, changed, name=_CHANGED, prepare=toucher(skills)),
        _contender(metier, home, cold, name=_COLD, prepare=partial(shutil.rmtree, cold, True)),
        *(_contender(tool, home, home) for tool in tools[1:]),
    ]


def _contender(
    tool: Tool, folder: Path, home: Path, *, name: str = "", prepare: Callable[[], object] = lambda: None
) -> Contender:
    measure = partial(run, tool.words, cwd=folder / "project", environment=_environment(home))
    return Contender(name=name or tool.name, measure=measure, prepare=prepare)


def _environment(home: Path) -> Mapping[str, str]:
    # gh at its best: no call home, no question whether there is a newer gh.
    return child_environment(home, GH_TELEMETRY="0", GH_NO_UPDATE_NOTIFIER="1", NO_COLOR="1")


def _tell(report: Report, size: int, figures: Mapping[str, Figure], rounds: int) -> None:
    gh = figures[_GH]
    report.add_figures(figures, within=f"{size}: ")
    report.add_table(
        f"{size:,} skills, median of {rounds} (minimum), in ms",
        ("tool", "wall", "x gh", "CPU", "x gh CPU"),
        (
            (
                name,
                f"{figure.wall:.0f} ({figure.wall_min:.0f})",
                f"{figure.wall / gh.wall:.2f}",
                f"{figure.cpu:.0f} ({figure.cpu_min:.0f})",
                f"{figure.cpu / gh.cpu:.2f}",
            )
            for name, figure in figures.items()
        ),
    )
    ratio = _worse(figures[_WARM], gh)
    report.targets.append(Target(what=f"{size:,} skills, warm, against gh", value=ratio, limit=0.25 if size == 10_000 else 1.0))
    if size == 100:
        ratio = _worse(figures[_CHANGED], gh)
        report.targets.append(Target(what="100 skills, after a change, against gh", value=ratio, limit=1.5))


def _worse(ours: Figure, theirs: Figure) -> float:
    return max(ours.wall / theirs.wall, ours.cpu / theirs.cpu)


if __name__ == "__main__":
    sys.exit(main())
