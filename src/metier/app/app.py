"""The composition root.

The layers above ask an App for what they need; the layers below are handed it. An App is made from three facts
(environment, current folder, flags) and looks up nothing else, so a test builds one as easily as the command line does.

Its parts are built on first use, and their packages imported then: listing skills does not import what runs scripts.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metier.config import Settings, SettingValue, is_switched_on, read_settings
from metier.values import replace

from .paths import Paths

if TYPE_CHECKING:
    from metier.catalog import Catalog
    from metier.install import HiddenSkill, InstallResult, SkillStore, SkillUpdate
    from metier.mcp import RemoteServers
    from metier.sources import Grant, Grants, Trust

    from .advisories import KnownAdvisories
    from .capabilities import CapabilityLists
    from .conversations import Conversations
    from .host_listings import HostListings
    from .installation import Installation
    from .packages import Packages
    from .recent_requests import RecentRequests
    from .registries import Registries
    from .router import Router
    from .sessions import Sessions
    from .skills import LocalSkills
    from .transcripts import Transcripts
    from .workspaces import Workspaces

__all__ = ["App"]


class App:
    def __init__(
        self, *, environment: Mapping[str, str] | None = None, folder: str | os.PathLike[str] | None = None,
        flags: Mapping[str, SettingValue] | None = None, system_config_file: str | None = None,
    ) -> None:  # fmt: skip
        self.environment = os.environ if environment is None else environment
        self.folder = os.path.abspath(folder or os.getcwd())
        self.flags = dict(flags or {})
        self.paths = Paths.of(self.environment, self.folder, system_config_file=system_config_file)
        self.ask_grant: Callable[[Grant], bool] | None = None
        """Asks the user whether this project may have what its settings ask for. None: it may not."""

    @cached_property
    def trust(self) -> Trust:
        from metier.sources import Trust

        return Trust(self.paths.at("trust.json"))

    @cached_property
    def grants(self) -> Grants:
        """The grants of single projects, which go beyond trust."""
        from metier.sources import Grants

        return Grants(self.paths.at("grants.json"))

    @cached_property
    def is_trusted(self) -> bool:
        """Returns True if skills and settings of the current folder may be used."""
        return self.trusts(self.folder)

    def trusts(self, folder: str) -> bool:
        """Returns True if skills and settings of a folder of the project may be used. METIER_TRUST covers the current one."""
        is_switched = is_switched_on(self.environment, "METIER_TRUST")
        return (is_switched and folder == self.folder) or self.trust.covers(folder)

    def trust_command(self, folder: str) -> str:
        """Returns the command that trusts a folder, as it is typed in the current one."""
        return "metier trust" if folder == self.folder else f"metier trust {shlex.quote(folder)}"

    @cached_property
    def settings(self) -> Settings:
        return read_settings(
            [self.paths.config_file],
            system_file=self.paths.system_config_file,
            project_file=self.paths.project_config_file if self.trusts(self.paths.project) else None,
            environment=self.environment,
            flags=self.flags,
            defaults={"skills.user_dir": self.paths.at("skills"), "skills.plugins_dir": self.paths.at("plugins")},
            folder=self.folder,
            project=self.paths.project,
        )

    @property
    def catalog(self) -> Catalog:
        return self.skills.catalog

    @cached_property
    def skills(self) -> LocalSkills:
        from .skills import LocalSkills

        return LocalSkills(
            paths=self.paths, settings=self.settings, environment=self.environment,
            is_trusted=self.is_trusted, trusts=self.trust.covers, installation=self.installation,
        )  # fmt: skip

    @cached_property
    def installation(self) -> Installation:
        from .installation import Installation

        return Installation(
            paths=self.paths, settings=self.settings, environment=self.environment, trusts=self.trusts,
            registries=self.registries, find_advisories=lambda offline: self.advisories.load(offline=offline),
        )  # fmt: skip

    def install(self, *refs: str, project: bool | None = None, **more: Any) -> InstallResult:
        """Installs skills for the user, or for the project if `project`; `more` are the options of `Installation.install`.

        Without refs it restores the lock (by default the project's if there is one, else the user's) and installs the
        configured plugins.
        """
        # Any: checked by `Installation.install`.
        result = self.installation.install(
            refs, project=project, available=lambda: [entry.name for entry in self.catalog.entries], **more
        )
        notes = [*self.advisories.notes]
        if refs and project and not self.trusts(result.scope.root):
            root = result.scope.root
            notes.append(f"{root} is not trusted, so metier does not use these skills yet; run `{self.trust_command(root)}`")
        if result.scope.old_journal and os.path.lexists(result.scope.old_journal):
            notes.append(f"{result.scope.old_journal} is ignored, because it came with the project; delete it")
        hides = self._hidden_by(result)
        notes += [
            f"{one.name} hides the {one.source} skill of that name in {one.folder}; --name installs it under another name"
            for one in hides
        ]
        return replace(result, notes=(*result.notes, *notes), hides=hides, agreed=self.capability_lists.agree(result))

    def _hidden_by(self, result: InstallResult) -> tuple[HiddenSkill, ...]:
        """Returns the skills that are hidden by what was installed now; copies and links of the same skill are not."""
        if not result.done or not result.changed:
            return ()
        from metier.install import SkillStore

        versions = [entry for name in result.changed for entry in result.lock.versions(name.partition("@")[0])]
        placed = SkillStore(result.scope).place_all(versions)
        installed = {os.path.realpath(path) for skill in placed.values() for path in skill.paths}
        others = (os.path.join(root, name) for root in self.installation.skill_roots for name in result.changed)
        if not any(os.path.exists(path) and os.path.realpath(path) not in installed for path in others):
            # The usual case, which needs no catalog.
            return ()
        from metier.catalog import State
        from metier.install import HiddenSkill

        catalog = self.skills.fresh_catalog()
        return tuple(
            HiddenSkill(name=entry.name, source=entry.source, folder=entry.folder)
            for entry in catalog.entries
            if entry.name in result.changed and entry.state is State.SHADOWED and entry.folder not in installed
            and (winner := catalog.get(entry.name)) is not None and winner.folder in installed
        )  # fmt: skip

    def update(
        self, *names: str, project: bool | None = None, **more: Any
    ) -> tuple[tuple[SkillStore, tuple[SkillUpdate, ...], InstallResult], ...]:
        """Updates installed skills, or all that are not pinned; `more` are the options of `Installation.update`."""
        # Any: checked by `Installation.update`.
        updated = self.installation.update(names, project=project, **more)
        for _, _, result in updated:
            self.capability_lists.agree(result)
        return updated

    def remove(self, *names: str, project: bool | None = None, **more: Any) -> tuple[InstallResult, ...]:
        """Removes installed skills; `more` are the options of `Installation.remove`."""
        # Any: checked by `Installation.remove`.
        return self.installation.remove(names, project=project, **more)

    @cached_property
    def registries(self) -> Registries:
        from .registries import Registries

        return Registries(
            paths=self.paths, settings=self.settings, environment=self.environment, grants=self.grants,
            ask=self.ask_grant, access=lambda **options: self.installation.access(**options),
        )  # fmt: skip

    @property
    def remote_servers(self) -> RemoteServers:
        return self.skills.remote_servers

    @cached_property
    def sessions(self) -> Sessions:
        from .sessions import Sessions

        return Sessions(
            paths=self.paths, settings=self.settings, environment=self.environment,
            skills=self.skills, packages=self.packages, registries=self.registries,
            find_capabilities=self.capability_lists.find,
        )  # fmt: skip

    @cached_property
    def capability_lists(self) -> CapabilityLists:
        from .capabilities import CapabilityLists

        return CapabilityLists(installation=self.installation, approvals=lambda: self.sessions.approvals)

    @cached_property
    def advisories(self) -> KnownAdvisories:
        from .advisories import KnownAdvisories

        return KnownAdvisories(
            paths=self.paths, settings=self.settings, registries=self.registries, find_locked=self.capability_lists.locked
        )

    @cached_property
    def packages(self) -> Packages:
        from .packages import Packages

        return Packages(paths=self.paths, environment=self.environment, installation=self.installation)

    @cached_property
    def workspaces(self) -> Workspaces:
        from .workspaces import Workspaces

        return Workspaces(paths=self.paths, settings=self.settings)

    @cached_property
    def conversations(self) -> Conversations:
        from .conversations import Conversations

        return Conversations(
            paths=self.paths, settings=self.settings, environment=self.environment,
            skills=self.skills, sessions=self.sessions, installation=self.installation,
        )  # fmt: skip

    @cached_property
    def router(self) -> Router:
        from .router import Router

        return Router(paths=self.paths, settings=self.settings, environment=self.environment, skills=self.skills)

    @cached_property
    def transcripts(self) -> Transcripts:
        from .transcripts import Transcripts

        return Transcripts(paths=self.paths, settings=self.settings, environment=self.environment)

    @cached_property
    def recent_requests(self) -> RecentRequests:
        from .recent_requests import RecentRequests

        return RecentRequests(transcripts=self.transcripts, router=self.router, skills=self.skills)

    @cached_property
    def host_listings(self) -> HostListings:
        """The lists of skills that other agents show their models here."""
        from .host_listings import HostListings

        return HostListings(paths=self.paths, environment=self.environment, skills=self.skills)
