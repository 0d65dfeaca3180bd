"""The packages of scripts: where they are locked and built, and the provider that sessions use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from metier.values import dataclass, field

if TYPE_CHECKING:
    from metier.install import Environment, EnvironmentCache, LockedPackages, SkillPackages
    from metier.runtime import PackageMount, PackagePlan
    from metier.spec import DeclaredPackages

    from .installation import Installation
    from .paths import Paths

__all__ = ["Packages"]


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

    def skills_with(self, *, offline: bool) -> SkillPackages:
        from metier.install import PackagePrograms, SkillPackages

        programs = PackagePrograms(folder=self.paths.cache("packages"), environment=self.environment, offline=offline)
        return SkillPackages(
            cache=self.cache, programs=programs, locks=self.paths.at("packages"), stores=self.installation.stores
        )

    @property
    def cache(self) -> EnvironmentCache:
        from metier.install import EnvironmentCache

        return EnvironmentCache(self.paths.cache("environments"))

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


def _mount(environment: Environment, declared: DeclaredPackages) -> PackageMount:
    from metier.runtime import PackageMount

    return PackageMount(kind=declared.kind, folder=environment.tree, python=environment.python)
