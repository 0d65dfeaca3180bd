"""The skills of a catalog as a session takes them from it: only those that may be used, each opened once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Protocol, runtime_checkable

from metier.archive import digest
from metier.catalog import Catalog, Entry, Source, State
from metier.errors import MetierError, SkillNotFoundError, UnavailableError
from metier.sources import DiskFiles, SkillLoader
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, FileEntry, Files, Skill, load, split_document
from metier.values import replace

from .activation import ActivatedBy
from .policy.permissions import Requester

__all__ = ["OpenRemoteFiles", "RemoteFiles", "SkillAccess", "body_of", "files_for_model", "origin_of"]

# What proves a skill is for its author: an agent that used it would only pay for the list.
_PROOF = ("evals/", "tests/")
_LARGEST_FILE = 1 << 30


@runtime_checkable
class RemoteFiles(Files, Protocol):
    """The files of a skill that is not on this machine. What is in them is a stranger's, and stays known as that."""

    @property
    def origin(self) -> str:
        """Whose they are, as a part of a sentence."""

    @property
    def digest(self) -> str:
        """Of everything that an approval is bound to, without reading a file; empty where nothing can be pinned."""

    def folder(self) -> str:
        """A folder of this machine with exactly these files, for a script to run in."""


OpenRemoteFiles = Callable[[Entry], RemoteFiles]


class SkillAccess:
    def __init__(self, catalog: Catalog, remote: OpenRemoteFiles | None = None) -> None:
        self.catalog = catalog
        self._loader = SkillLoader(catalog)
        self._remote = remote
        self._files: dict[str, DiskFiles | RemoteFiles] = {}
        self._read: dict[str, tuple[bytes, Skill]] = {}

    @cached_property
    def for_models(self) -> tuple[Entry, ...]:
        """What a model may know of."""
        return tuple(entry for entry in self.catalog if entry.is_for_models)

    def entry(self, name: str, by: ActivatedBy = ActivatedBy.USER) -> Entry:
        """Its entry, or the error that says why not. A skill that is closed to models does not exist for them."""
        entry = self.catalog.get(name)
        closed = (
            by in (ActivatedBy.MODEL, ActivatedBy.RANKER, ActivatedBy.TRIGGER)
            and entry is not None
            and entry.state is State.ENABLED
        )
        if entry is None or (closed and not entry.is_for_models):
            raise SkillNotFoundError(
                name, known=(each.name for each in self.for_models), hint=_NEAR if by is ActivatedBy.MODEL else ""
            )
        if entry.state is not State.ENABLED:
            self._loader.load_metadata(name)
        return entry

    def files(self, name: str) -> DiskFiles | RemoteFiles:
        entry = self.entry(name)
        found = self._files.get(entry.folder)
        if found is None:
            found = self._files[entry.folder] = self._opened(entry)
        return found

    def folder(self, name: str) -> str:
        """Where the skill's files are, for whoever runs one of them."""
        files = self.files(name)
        return files.folder if isinstance(files, DiskFiles) else files.folder()

    def skill(self, name: str) -> Skill:
        """Read now, so that an edit since discovery is seen; taken apart again only if there was one."""
        files = self.files(name)
        try:
            data = files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
        except MetierError:
            if isinstance(files, DiskFiles):
                return self._loaded(name, files)
            # That it could not be fetched, or is not what was listed, is no defect of its frontmatter.
            raise
        last, skill = self._read.get(name, (b"", None))
        if skill is None or last != data or skill.files is not files:
            skill = self._loaded(name, files)
            self._read[name] = (data, skill)
        return skill

    def _loaded(self, name: str, files: DiskFiles | RemoteFiles) -> Skill:
        skill = load(files, folder=self.entry(name).folder.rpartition("/")[2])
        if isinstance(files, DiskFiles):
            return skill
        # Under the name that it has here, or it could pass for another; and it brings neither code nor other skills along.
        extensions = replace(skill.manifest.extensions, dependencies=(), toolsets=(), scripts=())
        return replace(skill, manifest=replace(skill.manifest, name=name, allowed_tools=(), extensions=extensions))

    def _opened(self, entry: Entry) -> DiskFiles | RemoteFiles:
        if entry.source is not Source.MCP:
            return DiskFiles(entry.folder)
        if self._remote is None:
            raise UnavailableError(
                f"{entry.name} is on another server", hint="give the session's Host a way to it", retryable=False
            )
        return self._remote(entry)

    def resources(self, name: str, folder: str = "") -> tuple[FileEntry, ...]:
        prefix = folder.strip("/") + "/" if folder.strip("/") else ""
        return tuple(entry for entry in self.files(name).list() if entry.path != SKILL_FILE and entry.path.startswith(prefix))

    def requester(self, skill: Skill) -> Requester:
        remote = _remote(skill)
        if remote is not None:
            return Requester(name=skill.name, digest=lambda: remote.digest, origin=remote.origin)
        bundled = self.entry(skill.name).source is Source.BUNDLED
        return Requester.of(skill.manifest, lambda: digest(skill.files, limit=_LARGEST_FILE), bundled=bundled)

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
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
        return entry.manifest.extensions.dependencies if "dependencies" in entry.offer.frontmatter else ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalog.names)

    def __len__(self) -> int:
        return len(self._catalog)


def origin_of(skill: Skill) -> str:
    """Whose skill it is, where it is not of this machine."""
    remote = _remote(skill)
    return remote.origin if remote is not None else ""


def _remote(skill: Skill) -> RemoteFiles | None:
    # The class first: whether something has the methods of a protocol takes longer than the rest of making a tool.
    return skill.files if not isinstance(skill.files, DiskFiles) and isinstance(skill.files, RemoteFiles) else None


def files_for_model(files: Iterable[FileEntry]) -> list[str]:
    """Those of a skill's files that a model is told about."""
    return [entry.path for entry in files if not entry.path.startswith(_PROOF)]


def body_of(skill: Skill) -> str:
    return split_document(skill.files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).body.strip()
