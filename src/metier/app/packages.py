"""The packages of scripts: where they are locked and built, and the provider that sessions use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metier.values import dataclass, field

if TYPE_CHECKING:
    from metier.install import EnvironmentCache, LockedPackages, PackageDownloads, PackageEnvironment, SkillPackages
    from metier.runtime import PackageMount, PackagePlan, Permissions
    from metier.spec import DeclaredPackages

    from .installation import Installation
    from .paths import Paths

__all__ = ["Packages", "PreparedPackages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPackages:
    """The packages of one declaration of a skill, prepared."""

    declared: DeclaredPackages
    locked: LockedPackages
    environment: PackageEnvironment
    changes: tuple[str, ...] = ()
    """Against the lock before: `+ rich 14.0`, `polars 1.0 -> 1.1`."""
    is_new: bool = False
    """True if they were built now."""


@dataclass(frozen=True, kw_only=True)
class Packages:
    """The `metier.runtime.PackageProvider` of an App."""

    paths: Paths
    environment: Mapping[str, str]
    installation: Installation
    _planned: dict[str, LockedPackages] = field(default_factory=dict)

    @cached_property
    def skills(self) -> SkillPackages:
        return self.skills_with(offline=False)

    def skills_with(self, *, offline: bool, builds: bool = False) -> SkillPackages:
        from metier.install import PackagePrograms, SkillPackages

        programs = PackagePrograms(
            folder=self.paths.cache("packages"), environment=self.environment, offline=offline, builds=builds
        )
        return SkillPackages(
            cache=self.cache, programs=programs, locks=self.paths.at("packages"), stores=self.installation.stores
        )

    @property
    def cache(self) -> EnvironmentCache:
        from metier.install import EnvironmentCache

        return EnvironmentCache(self.paths.cache("environments"))

    @property
    def downloads(self) -> PackageDownloads:
        from metier.install import PackageDownloads

        return PackageDownloads(self.paths.cache("packages"))

    def prepare_skill(
        self,
        name: str,
        folder: str,
        permissions: Permissions,
        *,
        upgrade: bool = False,
        offline: bool = False,
        python: str = "",
        builds: bool = False,
    ) -> Iterator[PreparedPackages]:
        """Prepares everything that a skill declares. Raises RefusedError where the user does not allow it."""
        from metier.errors import RefusedError
        from metier.install import package_changes
        from metier.runtime import Requester, ToolRequest, approval_digest, refuse_denied_packages
        from metier.sources import DiskFiles

        skills = self.skills_with(offline=offline, builds=builds)
        requester = Requester(name=name, digest=lambda: approval_digest(DiskFiles(folder)))
        for declared in skills.declared(folder):
            refuse_denied_packages(declared, permissions, requester)
            before = skills.earlier(folder, declared)
            try:
                found = None if upgrade else skills.find(folder, declared)
            except RefusedError:
                found = None
            if found and before:
                yield PreparedPackages(declared=declared, locked=before, environment=found)
                continue
            if permissions.approve is None and (upgrade or skills.locked(folder, declared) is None):
                # Without anyone to ask, an index is asked only if the policy allows it.
                permissions.authorise(ToolRequest(tool="Packages", argument=declared.path), requester)
            locked = skills.resolve(folder, declared, upgrade=upgrade, python=python)
            details = tuple(map(str, locked.packages))
            permissions.authorise(ToolRequest(tool="Packages", argument=locked.digest, details=details), requester)
            built = skills.prepare(folder, declared, locked)
            changes = package_changes(before, locked)
            yield PreparedPackages(declared=declared, locked=locked, environment=built, changes=changes, is_new=True)

    def prepared(self, folder: str) -> tuple[PackageMount, ...]:
        """Returns everything that is prepared for the skill in a folder."""
        found = self.skills.status(folder)
        return tuple(_mount(one.environment, one.declared) for one in found if one.environment)

    def find(self, folder: str, declared: DeclaredPackages) -> PackageMount | None:
        found = self.skills.find(folder, declared)
        return _mount(found, declared) if found else None

    def plan(self, folder: str, declared: DeclaredPackages) -> PackagePlan:
        from metier.runtime import PackagePlan

        locked = self.skills.resolve(folder, declared)
        self._planned[locked.digest] = locked
        return PackagePlan(digest=locked.digest, packages=tuple(map(str, locked.packages)))

    def prepare(self, folder: str, declared: DeclaredPackages, plan: PackagePlan) -> PackageMount:
        return _mount(self.skills.prepare(folder, declared, self._planned[plan.digest]), declared)


def _mount(environment: PackageEnvironment, declared: DeclaredPackages) -> PackageMount:
    from metier.runtime import PackageMount

    return PackageMount(kind=declared.kind, folder=environment.tree, python=environment.python)
