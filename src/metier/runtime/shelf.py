"""The skills of a catalog as a session takes them from it: only those that may be used, each opened once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from metier.catalog import Catalog, Entry, Source, State
from metier.errors import SkillNotFound
from metier.sources import DiskFiles, SkillLoader
from metier.spec import SKILL_FILE, FileEntry, Skill, load, split
from metier.spec.skill import LONGEST_SKILL_FILE

from .activation import By
from .digest import tree_digest
from .permissions import Asker

__all__ = ["Shelf", "body_of", "shown_files"]

# What proves a skill is for its author: an agent that used it would only pay for the list.
_PROOF = ("evals/", "tests/")


class Shelf:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._loader = SkillLoader(catalog)
        self._files: dict[str, DiskFiles] = {}

    @cached_property
    def for_models(self) -> tuple[Entry, ...]:
        """What a model may know of."""
        return tuple(entry for entry in self.catalog if entry.is_for_models)

    def usable(self, name: str, by: By = By.USER) -> Entry:
        """Its entry, or the error that says why not. A skill that is closed to models does not exist for them."""
        entry = self.catalog.get(name)
        closed = by in (By.MODEL, By.RANKER, By.TRIGGER) and entry is not None and entry.state is State.ENABLED
        if entry is None or (closed and not entry.is_for_models):
            raise SkillNotFound(name, known=(each.name for each in self.for_models), hint=_NEAR if by is By.MODEL else "")
        if entry.state is not State.ENABLED:
            self._loader.load_metadata(name)
        return entry

    def files(self, name: str) -> DiskFiles:
        entry = self.usable(name)
        found = self._files.get(entry.folder)
        if found is None:
            found = self._files[entry.folder] = DiskFiles(entry.folder)
        return found

    def skill(self, name: str) -> Skill:
        """Read now, so that an edit since discovery is seen."""
        return load(self.files(name), folder=self.usable(name).folder.rpartition("/")[2])

    def resources(self, name: str, folder: str = "") -> tuple[FileEntry, ...]:
        prefix = folder.strip("/") + "/" if folder.strip("/") else ""
        return tuple(entry for entry in self.files(name).list() if entry.path != SKILL_FILE and entry.path.startswith(prefix))

    def asker(self, skill: Skill) -> Asker:
        bundled = self.usable(skill.name).source is Source.BUNDLED
        return Asker.of(skill.manifest, lambda: tree_digest(skill.files), bundled=bundled)

    @property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """What each usable skill depends on, looked up when it is asked for."""
        return _Needs(self.catalog)


_NEAR = "call list_skills or search_skills to see what there is"


class _Needs(Mapping[str, tuple[str, ...]]):
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> tuple[str, ...]:
        entry = self._catalog.get(name)
        if entry is None or entry.state is not State.ENABLED:
            raise KeyError(name)
        # Nearly no skill has any, and parsing a head to learn that takes longer than the rest of an activation.
        return entry.manifest.extensions.dependencies if "dependencies" in entry.offer.head else ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalog.names)

    def __len__(self) -> int:
        return len(self._catalog)


def shown_files(skill: Skill) -> list[str]:
    """The files that a model is told about."""
    return [entry.path for entry in skill.resources() if not entry.path.startswith(_PROOF)]


def body_of(skill: Skill) -> str:
    return split(skill.files.read(SKILL_FILE, limit=LONGEST_SKILL_FILE)).body.strip()
