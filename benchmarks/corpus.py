"""Generated skills to measure with: the same bytes on every machine, with every field of the standard.

Each skill is a folder with a SKILL.md (all six fields, a body of 4 KB), references/guide.md and scripts/run.py: the shape
on which the peers were measured first. Names, descriptions and compatibility vary, because a program may cache
texts, and equal ones would flatter it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

__all__ = ["make_skills", "scratch", "toucher"]

_VERBS = ("extract", "review", "convert", "summarise", "deploy", "translate", "measure", "repair", "draft", "compare", "plan")
_THINGS = ("pdf", "spreadsheet", "invoice", "changelog", "schema", "dashboard", "contract", "image", "recording", "cluster")
_LICENSES = ("MIT", "Apache-2.0", "Proprietary. LICENSE.txt has complete terms")
_NEEDS = ("Python 3.11+", "Python 3.9 or later", "a POSIX shell", "network access", "Python 3.10+ and a POSIX shell")
_CLIENTS = ("Designed for any client", "Works in Claude Code and similar products", "Made for command line agents")
_TOOLS = ("Read Grep", "Bash(git add:*) Bash(git commit:*) Read", "Read Write Edit", "Bash(python:*) Read")
_BODY_BYTES = 4096
_GUIDE = "# Guide\n\n" + "Look at the input first, then decide, and say what was decided.\n" * 12
_SCRIPT = '"""Prints its arguments."""\n\nimport sys\n\nprint(*sys.argv[1:])\n'


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="metier-benchmark-")).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_skills(root: Path, count: int) -> Path:
    """Fill `root` with `count` skills and return it."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        name = f"{_pick(_VERBS, number)}-{_pick(_THINGS, number // 11)}-{number:06d}"
        # Plain calls: a hundred thousand skills are six hundred thousand of them.
        folder = f"{root}/{name}"
        os.mkdir(folder)
        os.mkdir(f"{folder}/references")
        os.mkdir(f"{folder}/scripts")
        _write(f"{folder}/SKILL.md", _head(name, number) + _body(name))
        _write(f"{folder}/references/guide.md", _GUIDE)
        _write(f"{folder}/scripts/run.py", _SCRIPT)
    return root


def toucher(root: Path) -> Callable[[], None]:
    """Changes one skill each time it is called. The time is in the past, because very new files are not cached."""
    file = min(root.glob("*/SKILL.md"))
    times = count(1_700_000_000)

    def touch() -> None:
        now = next(times)
        os.utime(file, (now, now))

    return touch


def _head(name: str, number: int) -> str:
    verb, thing = _pick(_VERBS, number), _pick(_THINGS, number // 11)
    return (
        f"---\nname: {name}\n"
        f"description: Helps to {verb} every {thing} of batch {number}, checks the result and reports what was left out. "
        f"Use when the user wants to {verb} a {thing}, names batch {number}, or asks why an earlier {thing} looks wrong.\n"
        f"license: {_pick(_LICENSES, number)}\n"
        f"compatibility: {_pick(_CLIENTS, number // 5)}. Requires {_pick(_NEEDS, number)}.\n"
        f'metadata:\n  author: team-{number % 40}\n  version: "1.{number % 17}"\n  tags: {verb} {thing}\n'
        f"allowed-tools: {_pick(_TOOLS, number)}\n---\n"
    )


def _body(name: str) -> str:
    line = f"- Read references/guide.md, then run scripts/run.py with the input of {name} and check what it printed.\n"
    return f"\n# {name}\n\n## Steps\n\n" + line * (_BODY_BYTES // len(line))


def _pick(words: tuple[str, ...], number: int) -> str:
    return words[number % len(words)]


def _write(file: str, text: str) -> None:
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)
