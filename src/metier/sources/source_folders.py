"""The folders that are searched, from lowest to highest precedence.

Inside one scope metier's own folder wins, then the shared `.agents`, then those of other clients: whoever writes into
metier's folder means metier.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from metier.catalog import Source

__all__ = ["BUNDLED", "SourceFolder", "standard_folders"]

BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")


class SourceFolder(NamedTuple):
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
    """Every place, whether its folder exists or not. `skills_dir` replaces the project's, and is trusted by being named."""
    places = [
        SourceFolder(Source.BUNDLED, BUNDLED),
        SourceFolder(Source.USER, os.path.join(home, ".claude", "skills")),
        SourceFolder(Source.USER, os.path.join(home, ".agents", "skills")),
        SourceFolder(Source.USER, user_dir),
    ]
    if skills_dir is not None:
        places.append(SourceFolder(Source.PROJECT, skills_dir))
    elif project is not None:
        places += [
            SourceFolder(Source.CLAUDE, os.path.join(project, ".claude", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".agent", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".agents", "skills"), project_trusted),
            SourceFolder(Source.PROJECT, os.path.join(project, ".metier", "skills"), project_trusted),
        ]
    places.append(SourceFolder(Source.PLUGIN, plugins_dir))
    return _without_repeats(places)


def _without_repeats(places: list[SourceFolder]) -> tuple[SourceFolder, ...]:
    # In the home folder `./.claude/skills` is `~/.claude/skills`: the first mention, which is the trusted one, stays.
    seen: set[str] = set()
    kept: list[SourceFolder] = []
    for place in places:
        real = os.path.realpath(place.root)
        if real not in seen:
            seen.add(real)
            kept.append(place)
    return tuple(kept)
