"""The folders that are searched for skills, from lowest to highest precedence.

Within one scope metier's own folder wins, then the shared `.agents`, then the folders of other agents, because a skill in
metier's folder is meant for metier.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from metier.catalog import Source

__all__ = ["BUNDLED", "SourceFolder", "standard_folders"]

BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")


class SourceFolder(NamedTuple):
    """A folder with skills of one source."""

    source: Source
    root: str
    trusted: bool = True


def standard_folders(
    *,
    home: str,
    user_dir: str,
    plugins_dir: str,
    project: str | None,
    project_trusted: bool,
    skills_dir: str | None = None,
) -> tuple[SourceFolder, ...]:
    """Returns every folder, whether it exists or not. `skills_dir` replaces the project's folders and is trusted."""
    folders = [
        SourceFolder(Source.BUNDLED, BUNDLED),
        SourceFolder(Source.USER, os.path.join(home, ".claude", "skills")),
        SourceFolder(Source.USER, os.path.join(home, ".agents", "skills")),
        SourceFolder(Source.USER, user_dir),
    ]
    if skills_dir is not None:
        folders.append(SourceFolder(Source.PROJECT, skills_dir))
    elif project is not None:
        folders += [
            SourceFolder(Source.CLAUDE, os.path.join(project, ".claude", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".agent", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".agents", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".metier", "skills"), project_trusted),
        ]
    folders.append(SourceFolder(Source.PLUGIN, plugins_dir))
    return _without_repeats(folders)


def _without_repeats(folders: list[SourceFolder]) -> tuple[SourceFolder, ...]:
    # In the home folder `./.claude/skills` is `~/.claude/skills`; the first one, which is trusted, stays.
    seen: set[str] = set()
    kept: list[SourceFolder] = []
    for folder in folders:
        real = os.path.realpath(folder.root)
        if real not in seen:
            seen.add(real)
            kept.append(folder)
    return tuple(kept)
