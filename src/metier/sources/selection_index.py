"""Selection over a catalog, with an index file that every process maps.

Building the index reads the body of every skill; opening it reads none. A skill is indexed again if the time or size of its
SKILL.md has changed. If the file is missing or damaged, it is built again.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from metier.catalog import Catalog, Entry
from metier.selection import CorruptIndexError, Selection, Selector, SelectorOptions, SkillEmbeddings
from metier.spec import Extensions

from .atomic_write import replace_bytes
from .discovery import discover
from .regular_file import open_regular
from .skill_references import read_body

__all__ = ["IndexedSkill", "open_embeddings", "open_selector", "select"]

Opened = TypeVar("Opened")


class IndexedSkill:
    """An entry as the selector reads it. Its body is read only if the index does not have it yet."""

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
        """Time and size of the file, so that an unchanged file is not read."""
        return f"{self.entry.offer.mtime_ns}:{self.entry.offer.size}"

    @property
    def extensions(self) -> Extensions:
        return self.entry.manifest.extensions

    @property
    def tags(self) -> tuple[str, ...]:
        return self.extensions.tags

    @property
    def triggers(self) -> Mapping[str, tuple[str, ...]] | None:
        # Few skills have any, and decoding the fields takes longer than ranking the skill.
        if "triggers" not in self.entry.offer.fields:
            return None
        triggers = self.extensions.triggers
        return {"keywords": triggers.keywords, "verbs": triggers.verbs, "patterns": triggers.patterns}

    @property
    def body(self) -> str:
        return read_body(self.entry.folder)


def select(
    request: str,
    skills: Catalog | str | os.PathLike[str],
    *,
    limit: int | None = None,
    index: str | None = None,
    semantic: bool = False,
) -> Selection:
    """Selects the skills of a catalog, or of a folder, that fit the request; only those that a model may use.

    With a `limit`: the best so many, each with its decision. Without: only those to activate. `index` is a file for the
    index. To select more than once, keep the result of `open_selector`.
    """
    catalog = skills if isinstance(skills, Catalog) else discover(skills)
    selector = open_selector((entry for entry in catalog if entry.is_for_models), index, semantic=semantic)
    return selector.select(request, limit)


def open_selector(
    entries: Iterable[Entry], file: str | None = None, *, semantic: bool = False, options: SelectorOptions | None = None,
    is_saved: bool = True,
) -> Selector:  # fmt: skip
    """Opens a selector over these entries (a catalog or some of its entries), and saves its index in `file` if it changed.

    `semantic` also ranks by sentence embeddings, which are saved in a second file next to the first. Raises
    `UnavailableError` if the extra for it is not installed.
    """
    skills = [IndexedSkill(entry) for entry in entries]
    embeddings = open_embeddings(skills, file and f"{file}.embeddings") if semantic else None
    if file is None:
        return Selector(skills, embeddings=embeddings, options=options)
    selector = _open_mapped(file, lambda buffer: Selector.from_buffer(buffer, skills, embeddings=embeddings, options=options))
    if selector is None:
        selector = Selector(skills, embeddings=embeddings, options=options)
    elif not selector.is_changed:
        return selector
    if is_saved:
        _save(file, selector.index_bytes())
    return selector


def open_embeddings(skills: Sequence[IndexedSkill], file: str | None) -> SkillEmbeddings:
    """Opens the embeddings of these skills, and saves new ones in `file`; a new one takes tens of milliseconds."""
    # Imported here, because only semantic selection needs it.
    from metier.selection import MiniLM

    encoder = MiniLM()
    kept = _open_mapped(file, lambda buffer: SkillEmbeddings.from_buffer(buffer, encoder)) if file else None
    embeddings = SkillEmbeddings(encoder) if kept is None else kept
    if embeddings.learn(skills) and file:
        _save(file, embeddings.to_bytes(skills))
    return embeddings


def _save(file: str, content: bytes) -> None:
    try:
        replace_bytes(file, content)
    except OSError:
        # A full or read-only disk; the next process builds it again.
        pass


def _open_mapped(file: str, parse: Callable[[mmap.mmap], Opened]) -> Opened | None:
    try:
        with os.fdopen(open_regular(file), "rb") as stream:
            # The map stays valid after the file is closed or replaced; each process keeps the version that it opened.
            buffer = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    try:
        return parse(buffer)
    except CorruptIndexError:
        try:
            os.unlink(file)
        except OSError:
            pass
        return None
