"""The packages of a script in a run: a prepared environment, mounted read-only.

A session asks its `PackageProvider` for the environment of what a script declares. If there is none yet, the versions are
looked up, the user is asked with their list (`Packages` in the policy), and the environment is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from metier.errors import RefusedError, UnavailableError
from metier.runtime.policy.patterns import ToolRequest
from metier.runtime.policy.permissions import PACKAGES, PolicyVerdict
from metier.spec import (
    DeclaredPackages,
    PackageEcosystem,
    Skill,
    declared_packages,
    package_name,
    packages_of_script,
    script_files,
)
from metier.values import dataclass

if TYPE_CHECKING:
    from metier.runtime.policy.permissions import Permissions, Requester

__all__ = ["PackageMount", "PackagePlan", "PackageProvider", "find_prepared", "mount_packages", "refuse_denied_packages"]

_LARGEST_SCRIPT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageMount:
    """A prepared environment, as a run sees it."""

    kind: PackageEcosystem
    folder: str
    """Absolute path; it holds modules for Python, or `node_modules`. A run can only read it."""
    python: str = ""
    """The Python that it was built for."""

    @property
    def is_node(self) -> bool:
        return self.kind is PackageEcosystem.NPM


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePlan:
    """Packages that are resolved and not built yet."""

    digest: str
    packages: tuple[str, ...]
    """Each with its version, for the user to read."""


class PackageProvider(Protocol):
    """Finds and prepares the packages of scripts. `metier.app` has one over `metier.install`."""

    def find(self, folder: str, declared: DeclaredPackages) -> PackageMount | None:
        """Returns the prepared environment. Raises RefusedError if it was changed since."""

    def plan(self, folder: str, declared: DeclaredPackages) -> PackagePlan:
        """Looks up the versions; builds nothing."""

    def prepare(self, folder: str, declared: DeclaredPackages, plan: PackagePlan) -> PackageMount:
        """Builds exactly what `plan` lists."""


def mount_packages(
    skill: Skill, script: str, folder: str, *, provider: PackageProvider | None, permissions: Permissions, requester: Requester
) -> PackageMount | None:
    """Returns the environment of a script, prepared now if the user allows it; None if it declares no packages."""
    declared = packages_of_script(script, skill.files.read(script, limit=_LARGEST_SCRIPT), skill.files)
    if declared is None:
        return None
    if provider is None:
        raise UnavailableError(
            f"the script declares packages ({', '.join(declared.requirements[:5])}), which this session cannot prepare",
            hint="set packages in SessionServices",
            retryable=False,
        )
    refuse_denied_packages(declared, permissions, requester)
    found = provider.find(folder, declared)
    if found is not None:
        return found
    plan = provider.plan(folder, declared)
    try:
        wanted = tuple(map(package_name, declared.requirements))
        permissions.authorise(
            ToolRequest(tool=PACKAGES, argument=plan.digest, details=plan.packages, packages=wanted), requester
        )
    except RefusedError as refused:
        names = ", ".join(declared.requirements[:5])
        reason = str(refused).rpartition(": ")[2] if str(refused).endswith("refused") else str(refused)
        raise RefusedError(
            f"{skill.name} needs packages that are not prepared ({names}): {reason}", rule=refused.rule, hint=refused.hint
        ) from None
    return provider.prepare(folder, declared, plan)


def find_prepared(
    skill: Skill, folder: str, text: str, *, provider: PackageProvider, permissions: Permissions, requester: Requester,
    kinds: Sequence[PackageEcosystem],
) -> PackageMount | None:  # fmt: skip
    """Returns an environment of the skill that is prepared, for a command or a program; None if there is none.

    It builds nothing. The environment of a script that the text names comes first, then the kinds in their order.
    """
    declared = [each for each in declared_packages(skill.files, script_files(skill.files)) if each.kind in kinds]
    for each in sorted(declared, key=lambda one: (one.path not in text, kinds.index(one.kind))):
        refuse_denied_packages(each, permissions, requester)
        if (found := provider.find(folder, each)) is not None:
            return found
    return None


def refuse_denied_packages(declared: DeclaredPackages, permissions: Permissions, requester: Requester) -> None:
    """Raises RefusedError if the policy denies packages: before an index is asked for versions."""
    decision = permissions.decide(ToolRequest(tool=PACKAGES, argument=declared.path), requester)
    if decision.verdict is PolicyVerdict.DENY:
        raise RefusedError(
            f"{requester.name} may not use packages ({', '.join(declared.requirements[:5])}): {decision.rule}",
            rule=decision.rule.partition(":")[0],
            hint="the user's policy forbids it; see `metier policy show`",
        )
