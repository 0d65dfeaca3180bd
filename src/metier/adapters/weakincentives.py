"""The skills of a folder as one section of a prompt.

With weakincentives installed (Python 3.12 or later) it is a MarkdownSection of that package; without, the same class only
renders. It reads the folder once, when it is created.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from metier.catalog import Entry
from metier.disclosure import SectionVisibility, render_section
from metier.errors import NotFoundError
from metier.sources import discover
from metier.spec import resource_path
from metier.values import dataclass, field

__all__ = ["AgentSkillsSection", "AgentSkillsSectionParams", "SkillMetadata"]


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

    `session` belongs to the caller and is only returned.
    """

    def __init__(
        self, *, session: Any, skills_dir: os.PathLike[str] | str, allowed_skills: Sequence[str] = (),
        denied_skills: Sequence[str] = (), mount_path: str = "skills", accepts_overrides: bool = False,
    ) -> None:  # fmt: skip
        # Any: a session of any package.
        self._root = os.path.realpath(skills_dir)
        if not os.path.isdir(self._root):
            raise NotFoundError(
                f"no such folder: {os.fspath(skills_dir)!r}", hint="pass the folder that contains the skills' folders"
            )
        self._mount = resource_path(mount_path)
        self._session = session
        self._filters = (tuple(allowed_skills), tuple(denied_skills))
        entries = [entry for entry in discover(self._root, allow=allowed_skills, deny=denied_skills) if entry.is_for_models]
        self._found = _SectionSkills(_metadata(entry) for entry in entries)
        # The name may differ from the folder, or the skill may be nested, so the model needs the folder.
        folders = {entry.name: os.path.relpath(entry.folder, self._root) for entry in entries}
        self._texts = {
            visibility: render_section(entries, mount_path=self._mount, folders=folders, visibility=visibility).text
            for visibility in SectionVisibility
        }
        super().__init__(
            title="Agent Skills",
            key=_key(self._mount),
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
        """The same section for another `session`; the folder is read again."""
        allowed, denied = self._filters
        same: dict[str, Any] = {
            "session": self._session, "skills_dir": self._root, "allowed_skills": allowed, "denied_skills": denied,
            "mount_path": self._mount, "accepts_overrides": self.accepts_overrides,
        }  # fmt: skip
        return type(self)(**{**same, **{name: value for name, value in kwargs.items() if name in same}})

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


def _key(mount: str) -> str:
    """A key from the mount path, so that two sections of one prompt differ."""
    return re.sub(r"[^a-z0-9._-]+", "-", mount.lower().replace("/", ".")).strip("-._")[:64] or "skills"
