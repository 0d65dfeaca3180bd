"""Measures install, restore and outdated against other installers and against the network.

- All 18 skills (400 files, 12 MB) of a local repository into ./.claude/skills: `metier skill install --all`, `gh skill
  install --from-local --all` and `skills add`. gh and skills write files and stop; metier also flushes every file to the
  disk, scans every skill and writes a lock with the hash of each file. metier is measured with links (its default, one copy
  and 18 links), with --copy and without the scan, each into an empty home (its cache is empty too). The target, against gh: at
  most 1.6 times its time. gh is compiled; the floor beside it is a Python without any library that walks, reads, hashes, writes
  and flushes once, and checks nothing.
- 100 locked skills of 20 repositories on a new machine: from the cache, and from git over HTTP on loopback. Loopback has no
  latency, so the network is at its best here. Fetched skills are scanned; cached ones were scanned when they were
  fetched. The target: the cache at least five times as fast.
- `metier skill outdated` over 200 locked skills of 20 repositories, whose server answers after 50 ms, as a distant one would.
  Every repository must be asked once; the floor is `git ls-remote` for each, one after the other.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

# Not this folder, in which `install` would be this very file.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from benchmarks.corpus import scratch
from benchmarks.measure import Contender, Figure, Report, Sample, Target, child_environment, compete, options, run, script
from benchmarks.peers import GH, SKILLS, python_peer, skills
from install.servers import Repository, Site, site

_SKILLS, _FILES, _BYTES = 18, 400, 12_000_000
_LINKS, _COPIES, _GH, _NODE = "metier, links", "metier --copy", "gh --from-local --all", "skills add"
_UNSAFE, _FLOOR = "metier --unsafe, no scan", "bare Python, no checks"
_BARE = """
import hashlib, os, sys
lines = []
for root, _, names in os.walk(sys.argv[1] + "/skills"):
    below = ".claude/skills" + root[len(sys.argv[1]) + 7 :]
    os.makedirs(below)
    for name in names:
        with open(root + "/" + name, "rb") as stream:
            data = stream.read()
        lines.append(below + name + hashlib.sha256(data).hexdigest())
        with open(below + "/" + name, "xb") as stream:
            stream.write(data)
with open("lock", "x") as stream:
    stream.writelines(lines)
os.sync()
"""


def main() -> int:
    chosen = options(__doc__, rounds=9, quick=3)
    report = Report("Installing skills", as_json=chosen.json)
    _compare_local(report, chosen.rounds)
    _compare_restore(report, max(3, chosen.rounds // 2))
    _ask_for_news(report, max(3, chosen.rounds // 2))
    return report.finish()


def _compare_local(report: Report, rounds: int) -> None:
    node = skills()
    report.say(f"against {GH}, " + (SKILLS if node else "skills left out: npm is not here"))
    with scratch() as home:
        repository = _repository(home / "repository")
        gh = str(python_peer(GH) / "gh")
        metier = (script("metier"), "skill", "install", str(repository), "--all", "--project", "--target", "claude-code")
        tools: list[tuple[str, Sequence[str]]] = [
            (_LINKS, metier),
            (_COPIES, (*metier, "--copy")),
            (_UNSAFE, (*metier, "--unsafe")),
            (_GH, (gh, "skill", "install", str(repository), "--from-local", "--all", "--agent", "claude-code")),
        ]
        tools.append((_FLOOR, (sys.executable, "-c", _BARE, str(repository))))
        if node:
            tools.append((_NODE, (*node, "add", str(repository), "-s", "*", "-a", "claude-code", "-y")))
        contenders = [_local(name, words, home / f"home-{number}") for number, (name, words) in enumerate(tools)]
        figures = compete(contenders, rounds=rounds)
    _tell(report, f"{_SKILLS} skills, {_FILES} files, {_BYTES // 1_000_000} MB from a local repository", figures, _GH)
    for name in (_LINKS, _COPIES):
        report.targets.append(
            Target(
                what=f"{name} against gh, wall",
                value=figures[name].wall / figures[_GH].wall,
                limit=1.6 if name == _LINKS else 1.0,
            )
        )


def _local(name: str, words: Sequence[str], place: Path) -> Contender:
    homes = (place / str(number) for number in count())
    home = place

    def prepare() -> None:
        # Never where the last run was deleted: ext4 steps over what was deleted in the last seconds, which costs more than
        # all the rest together.
        nonlocal home
        home = next(homes)
        (home / "project" / ".git").mkdir(parents=True)
        # What the last one left to write must not be waited for by the next one's flush.
        os.sync()

    def measure() -> Sample:
        sample = run(words, cwd=home / "project", environment=_environment(home))
        found = len(list((home / "project/.claude/skills").glob("*/SKILL.md")))
        if found != _SKILLS:
            raise SystemExit(f"{name} installed {found} of {_SKILLS} skills")
        return sample

    return Contender(name=name, measure=measure, prepare=prepare)


def _compare_restore(report: Report, rounds: int) -> None:
    with scratch() as folder, _served(folder, repositories=20, skills=5) as (server, home):
        cache, lock = home / ".metier/cache", home / ".metier/metier.lock"
        kept = shutil.copytree(cache, folder / "kept")
        words = (script("metier"), "skill", "install", "--insecure-http")
        number, locked = count(), lock.read_text().count(".files]")

        def contender(name: str, *, cached: bool) -> Contender:
            def prepare() -> None:
                # Moved away, not deleted; see above.
                for used in (home / ".metier/plugins", cache):
                    if used.exists():
                        used.rename(folder / f"used-{next(number)}")
                if cached:
                    shutil.copytree(kept, cache)
                os.sync()
                server.log.clear()

            def measure() -> Sample:
                sample = run(words, cwd=folder, environment=_environment(home))
                restored = len(list((home / ".metier/plugins").glob("*/SKILL.md")))
                if restored != locked or bool(server.log) is cached:
                    raise SystemExit(f"{name}: {restored} of {locked} restored with {len(server.log)} requests")
                return sample

            return Contender(name=name, measure=measure, prepare=prepare)

        figures = compete(
            [contender("from the cache", cached=True), contender("from the network", cached=False)], rounds=rounds
        )
    _tell(report, f"restore of {locked} locked skills of 20 repositories", figures, "from the network")
    value = figures["from the cache"].wall / figures["from the network"].wall
    report.targets.append(Target(what=f"restore of {locked} from the cache, wall", value=value, limit=0.2))


def _ask_for_news(report: Report, rounds: int) -> None:
    with scratch() as folder, _served(folder, repositories=20, skills=10) as (server, home):
        _answer_late(server, 0.05)
        urls = [f"{server.url}/r{number}.git" for number in range(20)]
        words = (script("metier"), "skill", "outdated", "--insecure-http", "--json")
        asked: list[int] = []

        def metier() -> Sample:
            server.log.clear()
            sample = run(words, cwd=folder, environment=_environment(home))
            asked.append(max(len(server.requests(f"/r{number}.git/info/refs")) for number in range(20)))
            return sample

        contenders = [
            Contender(name="metier skill outdated", measure=metier),
            Contender(name="20 x git ls-remote", measure=partial(_one_by_one, urls, folder, home)),
        ]
        figures = compete(contenders, rounds=rounds)
    _tell(report, "news of 200 locked skills of 20 repositories", figures, "20 x git ls-remote")
    report.targets.append(Target(what="times that one repository is asked", value=max(asked), limit=1, unit="times"))
    value = figures["metier skill outdated"].wall / figures["20 x git ls-remote"].wall
    report.targets.append(Target(what="outdated against asking in turn, wall", value=value, limit=0.6))


def _one_by_one(urls: Sequence[str], folder: Path, home: Path) -> Sample:
    samples = [run(("git", "ls-remote", url), cwd=folder, environment=_environment(home)) for url in urls]
    return Sample(sum(sample.wall for sample in samples), sum(sample.cpu for sample in samples))


@contextmanager
def _served(folder: Path, *, repositories: int, skills: int) -> Iterator[tuple[Site, Path]]:
    """Repositories on loopback, and a home in which all of their skills are installed."""
    for number in range(repositories):
        files = {
            f"skills/r{number}-s{each}/{path}": data for each in range(skills) for path, data in _skill(f"r{number}-s{each}")
        }
        Repository(folder / "git" / f"r{number}.git").commit(files)
    home = folder / "home"
    home.mkdir()
    with site(git_root=folder / "git") as server:
        refs = [f"git+{server.url}/r{number}.git" for number in range(repositories)]
        words = (script("metier"), "skill", "install", *refs, "--all", "--insecure-http")
        done = subprocess.run(words, cwd=folder, env=_environment(home), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        yield server, home


def _answer_late(server: Site, seconds: float) -> None:
    """Delays every request for refs, as a distant server would."""

    class Log(list[Any]):  # Any: what the server notes
        def append(self, seen: Any) -> None:
            time.sleep(seconds)
            super().append(seen)

    server.log = Log(server.log)


def _skill(name: str) -> Iterator[tuple[str, str]]:
    yield (
        "SKILL.md",
        f"---\nname: {name}\ndescription: Does {name}. Use when asked for {name}.\n---\n\n" + f"Step of {name}.\n" * 200,
    )
    yield "references/guide.md", f"# Guide of {name}\n" * 200
    yield "scripts/run.py", f"print({name!r})\n" * 50


def _repository(root: Path) -> Path:
    """The shape of anthropics/skills: a few large files, many small ones."""
    for number in range(_FILES):
        skill = f"skill-{number % _SKILLS:02d}"
        file = root / "skills" / skill / ("SKILL.md" if number < _SKILLS else f"references/part-{number:03d}.bin")
        file.parent.mkdir(parents=True, exist_ok=True)
        if number < _SKILLS:
            file.write_text(f"---\nname: {skill}\ndescription: Does {skill}. Use when asked for {skill}.\n---\n\nDo it.\n")
        else:
            seed = hashlib.sha256(str(number).encode()).digest()
            file.write_bytes((seed * (_BYTES // (_FILES - _SKILLS) // 32 + 1))[: _BYTES // (_FILES - _SKILLS)])
    return root


def _environment(home: Path) -> Mapping[str, str]:
    return child_environment(home, GH_TELEMETRY="0", GH_NO_UPDATE_NOTIFIER="1", DISABLE_TELEMETRY="1", NO_COLOR="1")


def _tell(report: Report, title: str, figures: Mapping[str, Figure], floor: str) -> None:
    report.add_figures(figures, within=f"{title}: ")
    base = figures[floor]
    report.add_table(
        f"{title}, median of {next(iter(figures.values())).runs} (minimum), in ms",
        ("tool", "wall", f"x {floor}", "CPU", "x CPU"),
        (
            (name, f"{one.wall:.0f} ({one.wall_min:.0f})", f"{one.wall / base.wall:.2f}", f"{one.cpu:.0f} ({one.cpu_min:.0f})",
             f"{one.cpu / base.cpu:.2f}")
            for name, one in figures.items()
        ),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
