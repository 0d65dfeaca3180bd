"""The folders that are searched for skills, from lowest to highest precedence.

Within one scope metier's own folder wins, then the shared `.agents`, then the folders of other agents, because a skill in
metier's folder is meant for metier.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from metier.catalog import Source

__all__ = ["BUNDLED", "ProjectFolder", "SourceFolder", "standard_folders"]

BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")


class SourceFolder(NamedTuple):
    """A folder with skills of one source."""

    source: Source
    root: str
    trusted: bool = True
    leads_to: str = ""
    """The target of a project's folder that is a link out of the project. Such a folder is not searched."""
    project: str = ""
    """The folder of the project that it belongs to, if that is not the current folder but one above it."""


class ProjectFolder(NamedTuple):
    """A folder on the way from the root of a repository to the current folder."""

    path: str
    trusted: bool
    packages: tuple[str, ...] = ()
    """Folders of skills in installed packages of the project, which the user has switched on."""


def standard_folders(
    *,
    home: str,
    user_dir: str,
    plugins_dir: str,
    project: str | None,
    project_trusted: bool,
    skills_dir: str | None = None,
    is_trusted: Callable[[str], bool] = lambda _: False,
    above: Sequence[ProjectFolder] = (),
    packages: Sequence[str] = (),
    user_folders: Sequence[str] = (),
    project_folders: Sequence[str] = (),
) -> tuple[SourceFolder, ...]:
    """Returns every folder, whether it exists or not. `skills_dir` replaces the project's folders and is trusted.

    `above` are the folders from the root of the repository down to the one above the project: their skills apply here too,
    and nearer ones win. `user_folders` and `project_folders` are those of other agents; of these, only the ones that exist are
    returned. A folder of the project that is a link out of it is searched only if the user trusts the folder that it leads to:
    trust in a project does not make the rest of the disk a part of it.
    """
    folders = [
        SourceFolder(Source.BUNDLED, BUNDLED),
        *(SourceFolder(Source.USER, root) for root in user_folders if os.path.isdir(root)),
        SourceFolder(Source.USER, os.path.join(home, ".claude", "skills")),
        SourceFolder(Source.USER, os.path.join(home, ".agents", "skills")),
        SourceFolder(Source.USER, user_dir),
    ]
    chain: list[ProjectFolder] = []
    if skills_dir is not None:
        folders.append(SourceFolder(Source.PROJECT, skills_dir))
    elif project is not None:
        here = ProjectFolder(project, project_trusted, tuple(packages))
        chain = [*above, here]
        for place in chain:
            folders += _project_folders(place, "" if place is here else place.path, project_folders)
    folders.append(SourceFolder(Source.PLUGIN, plugins_dir))
    return _without_repeats(folders, chain, is_trusted)


def _project_folders(place: ProjectFolder, project: str, others: Sequence[str]) -> list[SourceFolder]:
    """Returns the folders of one project folder, lowest precedence first."""
    path, trusted = place.path, place.trusted
    existing = [*place.packages, *(os.path.join(path, name) for name in others)]
    own = ("skills", ".agent/skills", ".agents/skills", ".metier/skills")
    return [
        *(SourceFolder(Source.PROJECT, root, trusted, project=project) for root in existing if os.path.isdir(root)),
        SourceFolder(Source.CLAUDE, os.path.join(path, ".claude/skills"), trusted, project=project),
        *(SourceFolder(Source.PROJECT, os.path.join(path, name), trusted, project=project) for name in own),
    ]


def _without_repeats(
    folders: list[SourceFolder], chain: Sequence[ProjectFolder], is_trusted: Callable[[str], bool]
) -> tuple[SourceFolder, ...]:
    # In the home folder `./.claude/skills` is `~/.claude/skills`; the first one, which is trusted, stays.
    seen: set[str] = set()
    kept: list[SourceFolder] = []
    bounds = {place.path: _bound(place, chain) for place in chain}
    for folder in folders:
        real = os.path.realpath(folder.root)
        if real in seen:
            continue
        seen.add(real)
        is_projects = bool(chain) and folder.source in (Source.CLAUDE, Source.PROJECT)
        inside = bounds[folder.project or chain[-1].path] if is_projects else ""
        leads_out = is_projects and not real.startswith(inside) and not is_trusted(real)
        kept.append(folder._replace(leads_to=real) if leads_out else folder)
    return tuple(kept)


def _bound(place: ProjectFolder, chain: Sequence[ProjectFolder]) -> str:
    """Returns the folder that links may not leave: the highest one that is trusted with this one, else the place itself."""
    top = next((above for above in chain if above.trusted), place) if place.trusted else place
    return os.path.join(os.path.realpath(top.path), "")
