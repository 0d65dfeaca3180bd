"""The folders that are searched for skills, from lowest to highest precedence.

Within one scope metier's own folder wins, then the shared `.agents`, then the folders of other agents, because a skill in
metier's folder is meant for metier.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from metier.catalog import Source

__all__ = ["BUNDLED", "SourceFolder", "standard_folders"]

BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")


class SourceFolder(NamedTuple):
    """A folder with skills of one source."""

    source: Source
    root: str
    trusted: bool = True
    leads_to: str = ""
    """The target of a project's folder that is a link out of the project. Such a folder is not searched."""


def standard_folders(
    *,
    home: str,
    user_dir: str,
    plugins_dir: str,
    project: str | None,
    project_trusted: bool,
    skills_dir: str | None = None,
    is_trusted: Callable[[str], bool] = lambda _: False,
) -> tuple[SourceFolder, ...]:
    """Returns every folder, whether it exists or not. `skills_dir` replaces the project's folders and is trusted.

    A folder of the project that is a link out of it is searched only if the user trusts the folder that it leads to:
    trust in a project does not make the rest of the disk a part of it.
    """
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
            SourceFolder(Source.PROJECT, os.path.join(project, "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".agent", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".agents", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".metier", "skills"), project_trusted),
        ]
    folders.append(SourceFolder(Source.PLUGIN, plugins_dir))
    return _without_repeats(folders, project if skills_dir is None else None, is_trusted)


def _without_repeats(
    folders: list[SourceFolder], project: str | None, is_trusted: Callable[[str], bool]
) -> tuple[SourceFolder, ...]:
    # In the home folder `./.claude/skills` is `~/.claude/skills`; the first one, which is trusted, stays.
    inside = os.path.join(os.path.realpath(project), "") if project is not None else None
    seen: set[str] = set()
    kept: list[SourceFolder] = []
    for folder in folders:
        real = os.path.realpath(folder.root)
        if real in seen:
            continue
        seen.add(real)
        is_projects = inside is not None and folder.source in (Source.CLAUDE, Source.PROJECT)
        leads_out = is_projects and not real.startswith(inside or "") and not is_trusted(real)
        kept.append(folder._replace(leads_to=real) if leads_out else folder)
    return tuple(kept)
