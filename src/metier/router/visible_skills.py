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
    projects = [os.path.join(place, path) for place in chain for path in hook.project_folders]
    seen: dict[str, SourceFolder] = {}
    for source, root in [*((Source.USER, root) for root in users), *((Source.PROJECT, root) for root in projects)]:
        seen.setdefault(os.path.realpath(root), SourceFolder(source, root))
    return tuple(seen.values())


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
