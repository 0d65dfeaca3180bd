"""The rules of activation: which skills are active, and which one is evicted for another. Pure functions over rows.

A session holds at most `max_active` skills. At the limit the least recently used one is evicted, but never a pinned one,
never one that another active skill depends on, and never one that is being activated. Persistent skills do not count
towards the limit: they stay until they are deactivated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from metier.errors import ConflictError, NotFoundError, RefusedError, UsageError
from metier.spec import Extensions
from metier.values import dataclass, field, replace

__all__ = [
    "ActivatedBy",
    "Activation",
    "ActivationMode",
    "ActiveSkill",
    "admit",
    "check_versions",
    "deactivate",
    "dependency_order",
    "mark_used",
    "release_dependencies",
    "remove_rows",
]

ParameterValue = str | int | float | bool


class ActivatedBy(StrEnum):
    """The cause of an activation."""

    USER = "user"
    MODEL = "model"
    TRIGGER = "trigger"
    RANKER = "ranker"
    DEPENDENCY = "dependency"
    """Another skill depends on it."""


class ActivationMode(StrEnum):
    """The lifetime of an activation."""

    PERSISTENT = "persistent"
    """Until it is deactivated; it does not count towards the limit."""
    BOUNDED = "bounded"
    """Until it is deactivated, or evicted as the least recently used skill."""
    EPHEMERAL = "ephemeral"
    """Until the turn ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSkill:
    """One active skill of one session: one row of the store."""

    name: str
    folder: str
    since: datetime
    last_use: int
    """A number that grows with every use of any skill in the session; the smallest was used longest ago."""
    by: ActivatedBy = ActivatedBy.USER
    mode: ActivationMode = ActivationMode.BOUNDED
    pinned: bool = False
    arguments: str = ""
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    """Names of the skills that it depends on, directly."""
    content_checksum: str = ""
    """Of the text that the model was given, so that the same text is never injected twice."""
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """The result of an activation. `text` is exactly what a model gets."""

    name: str
    path: str
    """Of the SKILL.md."""
    text: str
    tokens: int
    by: ActivatedBy
    since: datetime
    injected: bool = True
    """False if the model has the same instructions already; the text is then one sentence that says so."""
    trimmed: bool = False
    dependencies: tuple[str, ...] = ()
    """Skills that were activated with it."""
    evicted: tuple[str, ...] = ()
    """Skills that were evicted for it."""
    warnings: tuple[str, ...] = ()
    """For the user, such as a toolset that could not be loaded. The rest works."""


def dependency_order(name: str, dependencies_of: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns `name` and all its dependencies, dependencies first. `dependencies_of` holds every usable skill."""
    done: dict[str, None] = {}
    path: list[str] = []

    def visit(each: str) -> None:
        if each in done:
            return
        if each in path:
            cycle = " -> ".join([*path[path.index(each) :], each])
            raise ConflictError(f"the dependencies of {name!r} form a cycle: {cycle}", hint="remove one of these dependencies")
        if each not in dependencies_of:
            raise NotFoundError(
                f"{path[-1]!r} depends on {each!r}, which is not installed or not enabled"
                if path
                else f"no skill is named {each!r}",
                hint=f"install or enable {each!r}, or remove it from the dependencies" if path else "see `metier skill list`",
            )
        path.append(each)
        for needed in dependencies_of[each]:
            visit(needed)
        path.pop()
        done[each] = None

    visit(name)
    return tuple(done)


def check_versions(extensions: Mapping[str, Extensions]) -> None:
    """Raises ConflictError if a skill depends on another version of a dependency than the one at hand."""
    for name, own in extensions.items():
        for dependency, wanted in own.dependency_versions.items():
            version = extensions[dependency].version
            if version is None:
                raise ConflictError(
                    f"{name!r} depends on {dependency} {wanted}, and {dependency!r} has no version",
                    hint=f"set metadata.version of {dependency!r}, or install another version of it",
                )
            if not _is_within(version, wanted):
                raise ConflictError(
                    f"{name!r} depends on {dependency} {wanted}, but version {version} is installed",
                    hint=f"run `metier skill update {dependency}`, or install a version that fits",
                )


def _is_within(version: str, wanted: str) -> bool:
    # Imported here: few skills name versions.
    from metier.spec import Version, VersionRange

    numbers, mark, rest = version.removeprefix("v").partition("-")
    padded = ".".join([*numbers.split("."), "0", "0"][:3]) if numbers.count(".") < 2 else numbers
    try:
        return Version.parse(f"{padded}{mark}{rest}") in VersionRange.parse(wanted)
    except UsageError:
        return False


def admit(
    active: Sequence[ActiveSkill], coming: Sequence[ActiveSkill], max_active: int
) -> tuple[tuple[ActiveSkill, ...], tuple[ActiveSkill, ...]]:
    """Returns the active rows with `coming` among them, and the evicted ones. Raises RefusedError if none can be evicted."""
    names = {each.name for each in coming}
    kept = [each for each in active if each.name not in names]
    evicted: list[ActiveSkill] = []
    while _count(kept) + _count(coming) > max_active:
        candidate = _least_recent(kept, coming)
        if candidate is None:
            raise _limit_reached(kept, coming, max_active)
        kept.remove(candidate)
        evicted.append(candidate)
        removed, kept = release_dependencies(kept, candidate, spare=names)
        evicted += removed
    return (*kept, *coming), tuple(evicted)


def deactivate(active: Sequence[ActiveSkill], name: str) -> tuple[tuple[ActiveSkill, ...], tuple[ActiveSkill, ...]]:
    """Returns the rows that stay when `name` is deactivated, and the rows that are removed with it."""
    found = next((each for each in active if each.name == name), None)
    if found is None:
        names = ", ".join(each.name for each in active)
        raise NotFoundError(f"{name!r} is not active", hint=f"active skills: {names}" if names else "no skill is active")
    dependents = [each.name for each in active if name in each.dependencies]
    if dependents:
        raise ConflictError(f"{dependents[0]!r} depends on {name!r}", hint=f"deactivate {dependents[0]!r} first")
    rest = [each for each in active if each is not found]
    removed, rest = release_dependencies(rest, found)
    return tuple(rest), (found, *removed)


def release_dependencies(
    active: Sequence[ActiveSkill], left: ActiveSkill, *, spare: Iterable[str] = ()
) -> tuple[list[ActiveSkill], list[ActiveSkill]]:
    """Returns the dependencies that were activated only for `left`, and the rows that stay."""
    kept, removed = list(active), []
    pending = list(left.dependencies)
    while pending:
        name = pending.pop()
        found = next((each for each in kept if each.name == name), None)
        if found is None or found.by is not ActivatedBy.DEPENDENCY or found.pinned or name in spare:
            continue
        if any(name in each.dependencies for each in kept):
            continue
        kept.remove(found)
        removed.append(found)
        pending += found.dependencies
    return removed, kept


def remove_rows(
    active: Sequence[ActiveSkill], left: Sequence[ActiveSkill]
) -> tuple[tuple[ActiveSkill, ...], tuple[ActiveSkill, ...]]:
    """Returns the rows that stay without `left`, and all removed rows: `left` and what was activated only for them."""
    kept = [row for row in active if row not in left]
    removed = list(left)
    for row in left:
        more, kept = release_dependencies(kept, row)
        removed += more
    return tuple(kept), tuple(removed)


def mark_used(active: Sequence[ActiveSkill], name: str) -> tuple[ActiveSkill, ...]:
    """Returns the rows with `name` and its dependencies as the most recently used."""
    by_name = {each.name: each for each in active}
    latest = max((each.last_use for each in active), default=0)
    order: list[str] = []

    def visit(each: str) -> None:
        if each in by_name and each not in order:
            order.append(each)
            for needed in by_name[each].dependencies:
                visit(needed)

    visit(name)
    numbers = {each: latest + place for place, each in enumerate(reversed(order), start=1)}
    return tuple(replace(each, last_use=numbers[each.name]) if each.name in numbers else each for each in active)


def _count(active: Iterable[ActiveSkill]) -> int:
    return sum(each.mode is not ActivationMode.PERSISTENT for each in active)


def _least_recent(kept: Sequence[ActiveSkill], coming: Sequence[ActiveSkill]) -> ActiveSkill | None:
    needed = {name for each in (*kept, *coming) for name in each.dependencies}
    free = [each for each in kept if each.mode is not ActivationMode.PERSISTENT and not each.pinned and each.name not in needed]
    return min(free, key=lambda each: each.last_use, default=None)


def _limit_reached(kept: Sequence[ActiveSkill], coming: Sequence[ActiveSkill], max_active: int) -> RefusedError:
    if _count(coming) > max_active:
        return RefusedError(
            f"{coming[-1].name!r} and its dependencies are {len(coming)} skills; at most {max_active} can be active",
            rule="max-active", hint="raise skills.max_active",
        )  # fmt: skip
    pinned = ", ".join(each.name for each in kept if each.mode is not ActivationMode.PERSISTENT)
    return RefusedError(
        f"cannot activate {coming[-1].name!r}: at most {max_active} skills can be active, and {pinned} cannot be evicted",
        rule="max-active",
        hint="unpin or deactivate one of them, or raise skills.max_active",
    )  # fmt: skip
