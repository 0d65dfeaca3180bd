"""The skills of a folder as one section of a prompt.

With weakincentives installed (Python 3.12 or later) it is a MarkdownSection of that package, and puts the skills into the
workspace of each prompt that runs; without, the same class renders, and `mount` does that. It reads the folder once, when it
is created.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from metier.catalog import Catalog, Entry, State, read_globs
from metier.disclosure import SectionVisibility, check_mount_path, mounted_folder, render_section
from metier.errors import InvalidSkillError, UnavailableError, UsageError
from metier.runtime import ActivatedBy, EventBus, SkillActivated
from metier.sources import DiskFiles, discover
from metier.spec import Report, check
from metier.values import dataclass, field

from .section_mount import SectionMount, write_skill
from .skills_folder import SkillsFolder

__all__ = ["AgentSkillsSection", "AgentSkillsSectionParams", "SkillMetadata", "SkippedSkill"]


@dataclass(frozen=True, slots=True)
class SkillMetadata:
    """A skill of the section."""

    name: str
    description: str
    path: Path
    """The absolute path of the skill's folder."""
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SkippedSkill:
    """A skill in the folder that the section does not show."""

    name: str
    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class AgentSkillsSectionParams:
    """The section has no parameters."""


P = TypeVar("P")


class _StandaloneSection(Generic[P]):
    """Replaces weakincentives' MarkdownSection where that is not installed."""

    def __init__(
        self, *, title: str, key: str, template: str, summary: str, default_params: P, accepts_overrides: bool
    ) -> None:
        self.title, self.key, self.template, self.summary = title, key, template, summary
        self.default_params, self.accepts_overrides = default_params, accepts_overrides

    def effective_visibility(self) -> SectionVisibility:
        return SectionVisibility.FULL


if TYPE_CHECKING:
    _Section = _StandaloneSection
else:
    try:
        from weakincentives.prompt import MarkdownSection as _Section
    except ImportError:
        _Section = _StandaloneSection


class _SectionSkills(tuple[SkillMetadata, ...]):
    """The skills of a section. The released package *calls* `section.skills` to get the skills to copy into an agent's home:
    none, because these are mounted into the workspace."""

    __slots__ = ()

    def __call__(self) -> tuple[()]:
        return ()


class AgentSkillsSection(_Section[AgentSkillsSectionParams]):
    """Describes the skills below `mount_path` of the workspace, and how to start one.

    `session` belongs to the caller and is only returned. A skill that cannot be used is in `skipped` with the reason; with
    `strict`, a folder that breaks the standard is an error. `events` gets a `SkillActivated` for each SKILL.md that the agent
    reads, and so does the dispatcher of a weakincentives session.
    """

    def __init__(
        self, *, session: Any, skills_dir: os.PathLike[str] | str, allowed_skills: Sequence[str] = (),
        denied_skills: Sequence[str] = (), mount_path: str = "skills", accepts_overrides: bool = False, strict: bool = False,
        events: EventBus | None = None,
    ) -> None:  # fmt: skip
        # Any: a session of any package.
        self._session, self._strict, self.events = session, strict, events or EventBus()
        self._mount_path = check_mount_path(mount_path)
        self._filters = (read_globs(allowed_skills, "allowed_skills"), read_globs(denied_skills, "denied_skills"))
        catalog = discover(skills_dir, allow=self._filters[0], deny=self._filters[1])
        self._root = os.path.realpath(skills_dir)
        if strict:
            _check_strictly(catalog, self._root)
        self._entries = [entry for entry in catalog if entry.is_for_models]
        self._found = _SectionSkills(_metadata(entry) for entry in self._entries)
        self.skipped = tuple(_skipped(entry) for entry in catalog.entries if not entry.is_for_models)
        self._texts = {
            visibility: render_section(
                self._entries, mount_path=self._mount_path, root=self._root, visibility=visibility
            ).text
            for visibility in SectionVisibility
        }  # fmt: skip
        super().__init__(
            title="Agent Skills",
            key=_key(self._mount_path, self._root),
            # A template substitutes `$name`, and a description may contain a dollar sign.
            template=self._texts[SectionVisibility.FULL].replace("$", "$$"),
            summary=self._texts[SectionVisibility.SUMMARY].replace("$", "$$"),
            default_params=AgentSkillsSectionParams(),
            accepts_overrides=accepts_overrides,
        )

    @property
    def skills(self) -> _SectionSkills:
        """The skills that passed the filters, sorted by name."""
        return self._found

    @property
    def session(self) -> Any:
        return self._session

    def clone(self, **kwargs: object) -> AgentSkillsSection:
        """The same section for another `session`, or with other arguments; the folder is read again."""
        allowed, denied = self._filters
        same: dict[str, Any] = {
            "session": self._session, "skills_dir": self._root, "allowed_skills": allowed, "denied_skills": denied,
            "mount_path": self._mount_path, "accepts_overrides": self.accepts_overrides, "strict": self._strict,
            "events": self.events,
        }  # fmt: skip
        # weakincentives also passes the session's dispatcher, which the session has.
        kwargs.pop("dispatcher", None)
        unknown = sorted(kwargs.keys() - same.keys())
        if unknown:
            raise UsageError(f"clone has no argument {unknown[0]!r}", hint=f"it takes {', '.join(same)}")
        return type(self)(**{**same, **kwargs})

    def mount(self, workspace: str | os.PathLike[str]) -> SkillsFolder:
        """Copies the skills to their locations in a workspace, read-only, until the result is closed.

        A copy of the same files that is there already is used. Raises ConflictError if a location has other files, such as the
        skills of another section with the same mount path.
        """
        return SkillsFolder(self._entries, folder=workspace, below=self._mount_path, root=self._root)

    def resources(self) -> Any:
        """For weakincentives: mounts the skills when a prompt starts to run, and removes them at its end."""
        # Any: a ResourceRegistry. The package exists where this is called.
        from weakincentives.filesystem import Filesystem
        from weakincentives.resources import Binding, ResourceRegistry

        # A type of its own, because a prompt has one resource of each type.
        kind = type("MountedSkills", (), {})
        open_mount = lambda resolver: self._open_mount(resolver.get_optional(Filesystem))  # noqa: E731
        return ResourceRegistry.of(*([Binding(kind, open_mount, eager=True)] if self._entries else []))

    def _open_mount(self, filesystem: Any) -> SectionMount:
        # Any: a Filesystem of weakincentives.
        from weakincentives.filesystem import HostFilesystem
        from weakincentives.runtime.events import ToolInvoked

        if filesystem is None:
            raise UnavailableError(
                "the prompt has no workspace that the skills could be in", hint="add a WorkspaceSection to it", retryable=False
            )
        locations = {entry.name: mounted_folder(entry, self._mount_path, self._root) for entry in self._entries}
        if isinstance(filesystem, HostFilesystem):
            folder = self.mount(filesystem.root)
        else:
            folder = None
            for entry in self._entries:
                write_skill(filesystem, entry.folder, locations[entry.name])
        mounted = SectionMount(locations, folder=folder, on_read=self._emit_activated)
        dispatcher = getattr(self._session, "dispatcher", None)
        if dispatcher is not None:
            mounted.listen(dispatcher, ToolInvoked)
        return mounted

    def _emit_activated(self, name: str, time: datetime) -> None:
        [skill] = [skill for skill in self._found if skill.name == name]
        event = SkillActivated(
            timestamp=time, session=str(getattr(self._session, "session_id", "")), name=name,
            path=str(skill.path / "SKILL.md"), by=ActivatedBy.MODEL, description=skill.description,
        )  # fmt: skip
        self.events.emit(event)
        dispatcher = getattr(self._session, "dispatcher", None)
        if dispatcher is not None:
            dispatcher.dispatch(event)

    def render_body(
        self, params: object = None, *, visibility: Any = None, path: tuple[str, ...] = (), session: object = None
    ) -> str:
        """The XML catalog and how to start a skill (FULL), or only names (SUMMARY); nothing without skills."""
        del params, path, session
        wanted = self.effective_visibility() if visibility is None else visibility
        # Their enum and ours have the same two values.
        return self._texts[SectionVisibility(getattr(wanted, "value", wanted))]


def _metadata(entry: Entry) -> SkillMetadata:
    manifest = entry.manifest
    return SkillMetadata(
        name=entry.name,
        description=entry.description,
        path=Path(entry.folder),
        license=manifest.license,
        compatibility=manifest.compatibility,
        allowed_tools=manifest.allowed_tools,
        metadata=manifest.metadata,
    )


def _skipped(entry: Entry) -> SkippedSkill:
    reason = entry.reason or "its author keeps it from models (disable-model-invocation)"
    return SkippedSkill(entry.name, Path(entry.folder), reason)


def _check_strictly(catalog: Catalog, root: str) -> None:
    """Raises InvalidSkillError for the folders that break the standard, or that share a name. Disabled skills do not matter."""
    broken: dict[str, Report] = {}
    for entry in catalog.entries:
        if entry.state is State.DISABLED:
            continue
        report = (
            entry.report if entry.state is State.SKIPPED else check(DiskFiles(entry.folder), folder=Path(entry.folder).name)
        )
        if report.errors or entry.state is State.SHADOWED:
            where = os.path.relpath(entry.folder, root)
            broken[where] = report
    if broken:
        reasons = [
            f"{where}: {report.errors[0].message if report.errors else 'another skill has its name'}"
            for where, report in broken.items()
        ]
        problems = tuple(problem for report in broken.values() for problem in report.errors)
        raise InvalidSkillError(f"invalid skills in {root}: {'; '.join(reasons)}", report=Report(problems))


def _key(mount: str, root: str) -> str:
    """A key from the mount path, so that two sections of one prompt differ; at the usual path also from the folder's name."""
    name = os.path.basename(root)
    path = f"{mount}/{name}" if mount == "skills" and name != "skills" else mount
    return re.sub(r"[^a-z0-9._-]+", "-", path.lower().replace("/", ".")).strip("-._")[:64] or "skills"
