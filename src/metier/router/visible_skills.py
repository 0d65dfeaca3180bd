"""The folders in which another agent looks for skills, and a text that changes with their contents."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from metier.catalog import Source
from metier.hosts import HOSTS, PROMPT_HOOKS, expand_folder
from metier.sources import SourceFolder, find_skill_folders, project_chain

__all__ = ["LibraryState", "file_signature", "library_state", "visible_folders"]


class LibraryState(NamedTuple):
    text: str
    watched: dict[str, str]
    """Settings files of the user and the project, each with its signature."""


def visible_folders(host: str, folder: str, *, home: str, environment: Mapping[str, str]) -> tuple[SourceFolder, ...]:
    """Returns the folders of skills that an agent reads here, lowest precedence first. The user's own, if `folder` is empty.

    They are trusted in the sense of the catalog: the agent reads them whatever metier thinks of the project, and the router
    repeats nothing of a skill but its name.
    """
    hook = PROMPT_HOOKS[host]
    users = [expand_folder(path, home, environment, moved=HOSTS[host]) for path in hook.user_folders]
    chain = project_chain(folder) if folder else ()
    roots = [(Source.USER, root, "") for root in users]
    roots += [(Source.PROJECT, os.path.join(place, path), place) for place in chain for path in hook.project_folders]
    real = {os.path.realpath(root) for _, root, _ in roots}
    seen: dict[str, SourceFolder] = {}
    for source, root, place in roots:
        seen.setdefault(os.path.realpath(root), SourceFolder(source, root))
        for target in _linked_skills(root, place):
            if not any(target == each or target.startswith(f"{each}/") for each in real):
                seen.setdefault(target, SourceFolder(source, target))
    return tuple(seen.values())


def _linked_skills(root: str, place: str) -> list[str]:
    """Returns the skills that a folder links to, which is how `metier skill install` gives them to an agent.

    Links of a project count only if they stay in the project's folder `place`.
    """
    try:
        with os.scandir(root) as children:
            links = sorted(child.path for child in children if child.is_symlink())
    except OSError:
        return []
    inside = f"{os.path.realpath(place)}/" if place else "/"
    targets = map(os.path.realpath, links)
    return [target for target in targets if target.startswith(inside) and os.path.isfile(os.path.join(target, "SKILL.md"))]


def library_state(folders: Iterable[SourceFolder], settings_files: Iterable[str]) -> LibraryState:
    """Compares cheaply: times and sizes of every SKILL.md, and of the settings files."""
    watched = {file: file_signature(file) for file in settings_files}
    found = [find_skill_folders(folder.root).found for folder in folders]
    text = f"{found}{watched}".encode("utf-8", "surrogateescape")
    return LibraryState(f"{zlib.crc32(text):08x}{zlib.adler32(text):08x}{len(text):x}", watched)


def file_signature(file: str) -> str:
    try:
        status = os.stat(file)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"
