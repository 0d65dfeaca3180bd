"""Helpers that build skills, offers and apps for tests of several packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from metier.app import App
from metier.catalog import Offer, OfferFlag, Source
from metier.sources import SourceFolder
from metier.testing import FakeMachine

__all__ = [
    "FakeMachine",
    "aged",
    "app_in",
    "as_another_user",
    "count_calls",
    "offer",
    "place",
    "python",
    "settle",
    "skill_text",
    "write_config",
    "write_skill",
]

OLD_NS = 60 * 10**9


def skill_text(name: str, *, description: str = "Does it. Use when asked.", head: str = "", body: str = "Do it.\n") -> str:
    """A SKILL.md; `head` holds more lines of frontmatter."""
    more = textwrap.dedent(head).strip("\n")
    return f"---\nname: {name}\ndescription: {description}\n{more + chr(10) if more else ''}---\n\n{body}"


def write_skill(
    root: Path, name: str, *, folder: str | None = None, description: str = "Does it. Use when asked.", head: str = "",
    body: str = "Do it.\n", data: bytes | None = None,
) -> Path:  # fmt: skip
    """A skill below `root`, old enough to be remembered by a cache. `data` replaces the whole SKILL.md."""
    path = root / (folder or name)
    path.mkdir(parents=True, exist_ok=True)
    text = skill_text(name, description=description, head=head, body=body).encode() if data is None else data
    (path / "SKILL.md").write_bytes(text)
    aged(path / "SKILL.md")
    return path


def aged(file: Path, by_ns: int = OLD_NS) -> Path:
    """Make a file look as if it had been written a while ago."""
    then = file.stat().st_mtime_ns - by_ns
    os.utime(file, ns=(then, then))
    return file


def settle(file: Path, like: os.stat_result) -> None:
    """Give a file the times of an earlier state of it."""
    os.utime(file, ns=(like.st_atime_ns, like.st_mtime_ns))


def offer(name: str, *, folder: str | None = None, flags: int = 0, needs: str = "", description: str = "Does it.") -> Offer:
    problems = '[{"code": "SK005", "severity": "error", "message": "there is no frontmatter"}]' if flags & OfferFlag.BAD else ""
    return Offer(folder or f"/skills/{name}", 1, 2, name, description, flags, needs, "", problems)


def place(root: Path, source: Source = Source.PROJECT, *, trusted: bool = True) -> SourceFolder:
    return SourceFolder(source, str(root), trusted)


def app_in(tmp_path: Path, *, variables: Mapping[str, str] | None = None, **options: Any) -> App:
    """An App whose home and project are `home` and `project` below a temporary folder, and that knows no other variable."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    environment = {"HOME": str(tmp_path / "home"), "METIER_HOME": str(tmp_path / "home/.metier"), "PATH": os.defpath}
    return App(environment={**environment, **(variables or {})}, folder=options.pop("folder", project), **options)


def write_config(tmp_path: Path, text: str, *, project: bool = False) -> Path:
    file = tmp_path / ("project" if project else "home") / ".metier/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return file


def count_calls(work: Callable[[], object]) -> int:
    """Returns how many functions the work calls, in Python and in C: a bound on effort that no busy machine can break."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def python(code: str, *arguments: object, stdin: int | None = None) -> subprocess.Popen[str]:
    """Start another process of the same Python on this code."""
    words = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


_AS_ANOTHER = """
import json, os, sys, sqlite3, tempfile
import metier.app, metier.sources.watcher, metier.config.edit
from metier.sources import *
from metier.sources.skill_folders import find_skill_folders
from metier.errors import *
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder = sys.argv[1]
"""


def as_another_user(folder: Path, code: str) -> Any:  # Any: what the code printed, as JSON
    """Run code as a user other than root, for whom permissions apply. The code sees the folder as `folder`."""
    process = python(_AS_ANOTHER + textwrap.dedent(code), folder)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return json.loads(out)
