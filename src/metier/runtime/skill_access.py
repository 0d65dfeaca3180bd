"""Access of a session to the skills of a catalog: only to usable ones, with the files of each opened once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Protocol, runtime_checkable

from metier.archive import digest_of_hashes, file_hashes
from metier.catalog import Catalog, Entry, Source, State
from metier.errors import MetierError, SkillNotFoundError, UnavailableError
from metier.sources import DiskFiles, SkillLoader, hash_folder, unusable
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, FileEntry, Files, OwnFiles, Skill, load, split_document
from metier.values import replace

from .activation import ActivatedBy
from .policy.capability_limits import CapabilityList
from .policy.permissions import Requester

__all__ = [
    "FindCapabilities", "Hashes", "OpenRemoteFiles", "RemoteFiles", "SkillAccess", "approval_digest", "approval_hashes",
    "body_of", "files_for_model", "origin_of",
]  # fmt: skip

# Tests and evaluations of a skill are for its author. Listing them would only cost an agent tokens.
_AUTHOR_FOLDERS = ("evals/", "tests/")


@runtime_checkable
class RemoteFiles(Files, Protocol):
    """The files of a skill on another server. Their content is untrusted, and stays marked as such."""

    @property
    def origin(self) -> str:
        """The owner, as a part of a sentence."""

    @property
    def digest(self) -> str:
        """Of everything that an approval is bound to, without reading a file. Empty if it cannot be pinned."""

    def folder(self) -> str:
        """Returns a local folder with exactly these files, for a script to run in."""


OpenRemoteFiles = Callable[[Entry], RemoteFiles]
FindCapabilities = Callable[[str], CapabilityList | None]
"""Returns the list of the skill in a folder; None if no lock has installed it."""
Hashes = Mapping[str, tuple[str, str]]
"""Mode and hash of each file and link, by path."""


class SkillAccess:
    def __init__(
        self, catalog: Catalog, remote: OpenRemoteFiles | None = None, capabilities: FindCapabilities | None = None
    ) -> None:
        self.catalog = catalog
        self._loader = SkillLoader(catalog)
        self._remote = remote
        self._capabilities = capabilities
        self._files: dict[str, DiskFiles | RemoteFiles] = {}
        self._read: dict[str, tuple[bytes, Skill]] = {}

    @cached_property
    def for_models(self) -> tuple[Entry, ...]:
        """The skills that a model may see."""
        return tuple(entry for entry in self.catalog if entry.is_for_models)

    def entry(self, name: str, by: ActivatedBy = ActivatedBy.USER) -> Entry:
        """Returns a usable entry, or raises the error that says why not. Skills closed to models do not exist for them."""
        # For a version that is not here, the catalog's error lists those that are.
        entry = self.catalog[name] if "@" in name and by is ActivatedBy.USER else self.catalog.get(name)
        closed = (
            by in (ActivatedBy.MODEL, ActivatedBy.RANKER, ActivatedBy.TRIGGER)
            and entry is not None
            and entry.state is State.ENABLED
        )
        if entry is None and by is not ActivatedBy.MODEL:
            raise unusable(self.catalog, name)
        if entry is None or (closed and not entry.is_for_models):
            raise SkillNotFoundError(
                name, known=(each.name for each in self.for_models), hint=_MODEL_HINT if by is ActivatedBy.MODEL else ""
            )
        if entry.state is not State.ENABLED:
            self._loader.load_metadata(name)
        return entry

    def files(self, name: str) -> DiskFiles | RemoteFiles:
        entry = self.entry(name)
        found = self._files.get(entry.folder)
        if found is None:
            found = self._files[entry.folder] = self._open(entry)
        return found

    def folder(self, name: str) -> str:
        """Returns the local folder of the skill's files, for running a script."""
        files = self.files(name)
        return files.folder if isinstance(files, DiskFiles) else files.folder()

    def skill(self, name: str) -> Skill:
        """Reads the skill now, so that edits since discovery count. It is parsed again only if its bytes changed."""
        files = self.files(name)
        try:
            data = files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)
        except MetierError:
            if isinstance(files, DiskFiles):
                return self._load(name, files)
            # A failed download, or a file that differs from its listing, is not a defect of the frontmatter.
            raise
        last, skill = self._read.get(name, (b"", None))
        if skill is None or last != data or skill.files is not files:
            skill = self._load(name, files)
            self._read[name] = (data, skill)
        return skill

    def _load(self, name: str, files: DiskFiles | RemoteFiles) -> Skill:
        skill = load(files, folder=self.entry(name).folder.rpartition("/")[2])
        if isinstance(files, DiskFiles):
            # One version of several has its version in its name, so that two of them can be active.
            return replace(skill, manifest=replace(skill.manifest, name=name)) if "@" in name else skill
        # It gets the name from the catalog, so that it cannot pass for another skill, and no toolsets and no dependencies.
        extensions = replace(skill.manifest.extensions, dependencies=(), toolsets=(), scripts=())
        return replace(skill, manifest=replace(skill.manifest, name=name, allowed_tools=(), extensions=extensions))

    def _open(self, entry: Entry) -> DiskFiles | RemoteFiles:
        if entry.source is not Source.MCP:
            return DiskFiles(entry.folder)
        if self._remote is None:
            raise UnavailableError(
                f"{entry.name} is on another server", hint="set remote_files in SessionServices", retryable=False
            )
        return self._remote(entry)

    def resources(self, name: str, folder: str = "") -> tuple[FileEntry, ...]:
        prefix = folder.strip("/") + "/" if folder.strip("/") else ""
        found = OwnFiles(self.files(name)).list()
        return tuple(entry for entry in found if entry.path != SKILL_FILE and entry.path.startswith(prefix))

    def requester(self, skill: Skill) -> Requester:
        remote = _remote(skill)
        if remote is not None:
            return Requester(name=skill.name, digest=lambda: remote.digest, origin=remote.origin)
        entry = self.entry(skill.name)
        limit = self._capabilities(entry.folder) if self._capabilities else None
        bundled = entry.source is Source.BUNDLED
        return Requester.of(skill.manifest, lambda: _digest_or_none(skill.files), bundled=bundled, limit=limit)

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        """The dependencies of each usable skill, looked up on access."""
        return _Dependencies(self.catalog)


_MODEL_HINT = "call list_skills or search_skills to see the available skills"


class _Dependencies(Mapping[str, tuple[str, ...]]):
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def __getitem__(self, name: str) -> tuple[str, ...]:
        entry = self._catalog.get(name)
        if entry is None or entry.state is not State.ENABLED:
            raise KeyError(name)
        # Few skills have any, and parsing the frontmatter to find out takes longer than the rest of an activation.
        return entry.manifest.extensions.dependencies if "dependencies" in entry.offer.fields else ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._catalog.names)

    def __len__(self) -> int:
        return len(self._catalog)


def approval_hashes(files: Files) -> Hashes:
    """Returns mode and hash of everything that the skill could load or run: every file and link, whatever its name."""
    return hash_folder(files.folder) if isinstance(files, DiskFiles) else file_hashes(files)


def approval_digest(files: Files) -> str:
    """Returns the digest that approvals of a local skill are bound to. Raises RefusedError if it cannot be approved."""
    return digest_of_hashes(approval_hashes(files))


def _digest_or_none(files: Files) -> str:
    try:
        return approval_digest(files)
    except MetierError:
        return ""


def origin_of(skill: Skill) -> str:
    """Returns the owner of a skill on another server, else an empty string."""
    remote = _remote(skill)
    return remote.origin if remote is not None else ""


def _remote(skill: Skill) -> RemoteFiles | None:
    # The class is checked first: a protocol check takes longer than the rest of making a tool.
    return skill.files if not isinstance(skill.files, DiskFiles) and isinstance(skill.files, RemoteFiles) else None


def files_for_model(files: Iterable[FileEntry]) -> list[str]:
    """Returns the paths that are listed for a model."""
    return [entry.path for entry in files if not entry.path.startswith(_AUTHOR_FOLDERS)]


def body_of(skill: Skill) -> str:
    return split_document(skill.files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES)).body.strip()
