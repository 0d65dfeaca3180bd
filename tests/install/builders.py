"""Builders for tests of installing: skills as a fetcher returns them, and a home to install them in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import skill_text
from metier.archive import Contents, Link, Member, digest
from metier.errors import NotFoundError
from metier.install.lock.lock_file import LockEntry, Origin
from metier.install.options import InstallOptions, InstallResult
from metier.install.prepare import PreparedSkill, prepare
from metier.install.protocols import Fetched, FetchedSkill, FetchResult, NewestVersion
from metier.install.store import SkillStore
from metier.install.targets.scope import InstallScope, ScopeLevel

__all__ = ["FakeFetcher", "contents", "fetched", "installed", "prepared", "scope_in", "snapshot", "store_in"]

NOON = "2026-11-15T12:00:00Z"


def contents(name: str = "pdf", *, body: str = "Do it.\n", head: str = "", files: Mapping[str, bytes] | None = None,
             links: Iterable[tuple[str, str]] = ()) -> Contents:  # fmt: skip
    """A skill with a script that may be run, and whatever else a test is about."""
    members = [
        Member("SKILL.md", skill_text(name, body=body, head=head).encode()),
        Member("scripts/run.sh", b"#!/bin/sh\n", True),
    ]
    members += [Member(path, data) for path, data in (files or {}).items()]
    return Contents(members, [Link(path, target) for path, target in links])


def fetched(name: str = "pdf", *, url: str = "https://example.com/skills.git", path: str | None = None, commit: str = "c" * 40,
            **options: Any) -> FetchedSkill:  # fmt: skip
    files = contents(name, **options)
    origin = Origin(kind="git", url=url, path=f"skills/{name}" if path is None else path, ref="main", commit=commit)
    return FetchedSkill(name=name, files=files, digest=digest(files), origin=origin)


def prepared(name: str = "pdf", *, called: str | None = None, **options: Any) -> PreparedSkill:
    return prepare(fetched(name, **options), name=called, asked="example/skills")


def scope_in(tmp_path: Path, level: ScopeLevel = ScopeLevel.USER) -> InstallScope:
    home = tmp_path / "home"
    root = home / ".metier" if level is ScopeLevel.USER else tmp_path / "project"
    return InstallScope(
        level=level, root=str(root), home=str(home), plugins=str(home / ".metier/plugins"), environment={},
        metier_home=str(home / ".metier"),
    )  # fmt: skip


def store_in(tmp_path: Path, level: ScopeLevel = ScopeLevel.USER, **options: Any) -> SkillStore:
    return SkillStore(scope_in(tmp_path, level), now=lambda: NOON, **options)


def installed(store: SkillStore, *skills: PreparedSkill, **how: Any) -> InstallResult:
    return store.install(skills, InstallOptions(**how))


def snapshot(root: Path, *, leave_out: Sequence[str] = (".metier-",)) -> dict[str, str]:
    """Everything below a folder but what an installer leaves for itself: links by target, files by mode and bytes."""
    found: dict[str, str] = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(tuple(leave_out))]
        for name in (*names, *files):
            path = Path(folder, name)
            if name.startswith(tuple(leave_out)):
                continue
            if path.is_symlink():
                found[str(path.relative_to(root))] = f"-> {os.readlink(path)}"
            elif path.is_file():
                found[str(path.relative_to(root))] = f"{path.stat().st_mode & 0o7777:o} {path.read_bytes()!r}"
    return found


class FakeFetcher:
    """A Fetcher with the given skills, by path. It records what it was asked for."""

    def __init__(self, *skills: FetchedSkill, locked: Iterable[FetchedSkill] = ()) -> None:
        self.now = {skill.origin.path: skill for skill in skills}
        self.then = {skill.digest: skill for skill in (*locked, *skills)}
        self.asked: list[str] = []

    def exact(self, entries: Sequence[LockEntry]) -> list[FetchResult]:
        self.asked += [entry.name for entry in entries]
        return [self.then.get(entry.digest) or _gone(entry) for entry in entries]

    def latest(self, entries: Sequence[LockEntry]) -> list[FetchResult]:
        return [self.now.get(entry.origin.path) or _gone(entry) for entry in entries]

    def newest(self, entries: Sequence[LockEntry]) -> list[NewestVersion]:
        found = [self.now.get(entry.origin.path) for entry in entries]
        return [
            NewestVersion(commit=one.origin.commit, digest=one.digest) if one else NewestVersion(problem="it is gone")
            for one in found
        ]

    def beside(self, entry: LockEntry, names: Sequence[str]) -> Fetched:
        return Fetched(skills=tuple(skill for skill in self.now.values() if skill.name in names))


def _gone(entry: LockEntry) -> NotFoundError:
    return NotFoundError(f"{entry.name} is gone", hint="")
