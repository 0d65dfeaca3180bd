"""The selection index of a catalog, kept beside the metadata cache and shared by every process that maps it.

Building it reads every skill's body; opening it reads none. A skill is indexed again when its SKILL.md has another
time or size. Like the cache it may vanish or break at any time, and then it is built anew: it can cost time, never an
answer.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from metier.catalog import Entry
from metier.selection import CorruptIndexError, Selector, SkillEmbeddings
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, Extensions, split_document

from .atomic_write import replace_bytes
from .disk_files import DiskFiles

__all__ = ["IndexedSkill", "open_embeddings", "open_selector"]

Opened = TypeVar("Opened")


class IndexedSkill:
    """An entry as the selector reads it. What stands in the file is read only when the index does not know it yet."""

    __slots__ = ("entry",)

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    @property
    def id(self) -> str:
        return self.entry.folder

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def description(self) -> str:
        return self.entry.description

    @property
    def location(self) -> str:
        return self.entry.location

    @property
    def digest(self) -> str:
        """Stands for everything in the file, so that nobody has to read it to see that it is unchanged."""
        return f"{self.entry.offer.mtime_ns}:{self.entry.offer.size}"

    @property
    def extensions(self) -> Extensions:
        return self.entry.manifest.extensions

    @property
    def tags(self) -> tuple[str, ...]:
        return self.extensions.tags

    @property
    def triggers(self) -> Mapping[str, tuple[str, ...]] | None:
        # Nearly no skill has any, and parsing a head to learn that costs more than ranking it.
        if "triggers" not in self.entry.offer.fields:
            return None
        triggers = self.extensions.triggers
        return {"keywords": triggers.keywords, "verbs": triggers.verbs, "patterns": triggers.patterns}

    @property
    def body(self) -> str:
        try:
            return split_document(DiskFiles(self.entry.folder).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).body
        except (OSError, LookupError):
            # Gone or changed since it was listed: it is still found by its description.
            return ""


def open_selector(entries: Iterable[Entry], file: str | None, *, semantic: bool = False) -> Selector:
    """A selector over these entries, from the saved index where that is good; saved again where it was not.

    `semantic` ranks by meaning too, and keeps what each skill means in a second file beside the first. Raises
    `UnavailableError` when the extra that this needs is not installed.
    """
    skills = [IndexedSkill(entry) for entry in entries]
    embeddings = open_embeddings(skills, file and f"{file}.embeddings") if semantic else None
    if file is None:
        return Selector(skills, embeddings=embeddings)
    selector = _opened(file, lambda buffer: Selector.from_buffer(buffer, skills, embeddings=embeddings))
    if selector is None:
        selector = Selector(skills, embeddings=embeddings)
    elif not selector.is_changed:
        return selector
    _save(file, selector.index_bytes())
    return selector


def open_embeddings(skills: Sequence[IndexedSkill], file: str | None) -> SkillEmbeddings:
    """What these skills mean, as far as possible from the file; reading one anew takes some tens of milliseconds."""
    from metier.selection import MiniLM

    encoder = MiniLM()
    kept = _opened(file, lambda buffer: SkillEmbeddings.from_buffer(buffer, encoder)) if file else None
    embeddings = SkillEmbeddings(encoder) if kept is None else kept
    if embeddings.learn(skills) and file:
        _save(file, embeddings.to_bytes(skills))
    return embeddings


def _save(file: str, content: bytes) -> None:
    try:
        replace_bytes(file, content)
    except OSError:
        # A full or read-only disk: the next start pays again.
        pass


def _opened(file: str, opened: Callable[[mmap.mmap], Opened]) -> Opened | None:
    try:
        with open(file, "rb") as stream:
            # The map outlives the file object, and the file's replacement: each process keeps the version it opened.
            buffer = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    try:
        return opened(buffer)
    except CorruptIndexError:
        try:
            os.unlink(file)
        except OSError:
            pass
        return None
