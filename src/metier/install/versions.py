"""Several versions of one skill: which version replaces another, and which is installed beside it.

A higher version replaces the installed one. A lower one replaces it too, unless the user wants both. Of several versions the
highest has the skill's own folder, which agents see; the others are extra versions, `NAME@VERSION`, for metier only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metier.errors import NotFoundError, UsageError
from metier.spec import Version, is_version
from metier.values import replace

from .fetch.job import Access, FetchJob
from .lock.lock_file import REGISTRY_KINDS, Lock, LockEntry
from .options import InstallOptions, VersionAction
from .prepare import PreparedSkill, prepare
from .refs.ref_types import GitRef, Ref
from .store import SkillStore

__all__ = ["other_version", "place_versions", "replaced_versions"]


def place_versions(skills: Sequence[PreparedSkill], store: SkillStore, options: InstallOptions) -> list[PreparedSkill]:
    """Returns the skills to install, with extra versions under `NAME@VERSION`. One that the user skips is left out."""
    lock = store.lock()
    return [placed for skill in skills for placed in _place(skill, lock, store, options)]


def replaced_versions(skills: Sequence[PreparedSkill], lock: Lock) -> Iterator[str]:
    """Yields a note for each installed skill that a lower version replaces."""
    for skill in skills:
        old = lock.get(skill.name)
        if old and old.identity == skill.entry.identity and _is_lower(skill.entry.version, old.version):
            yield f"{skill.name}: {skill.entry.version} instead of {old.version}; --side-by-side keeps both"


def other_version(entry: LockEntry, version: str, access: Access) -> Ref:
    """Returns the ref of another version of an installed skill, at the source that it came from. Raises NotFoundError."""
    origin = entry.origin
    if origin.kind in REGISTRY_KINDS:
        from .fetch.registry import locked_ref

        return locked_ref(origin, access.sources, version)
    if origin.kind == "git":
        return GitRef(host="", url=origin.url, path=origin.path, ref=_tag(entry, version, access))
    raise NotFoundError(
        f"{entry.name} was installed from {origin.url}, which has one version only",
        hint="name the source of the other version, such as a folder, an archive or `owner/repo#TAG`",
    )


def _place(skill: PreparedSkill, lock: Lock, store: SkillStore, options: InstallOptions) -> Iterator[PreparedSkill]:
    old, new = lock.get(skill.name), skill.entry
    if old is None or old.identity != new.identity or old.version == new.version:
        yield skill
        return
    if options.side_by_side:
        _check_versions(old, new)
    is_lower = _is_lower(new.version, old.version)
    action = VersionAction.SIDE_BY_SIDE if options.side_by_side else VersionAction.REPLACE
    if is_lower and lock.get(f"{new.name}@{new.version}"):
        action = VersionAction.SIDE_BY_SIDE
    elif is_lower and not options.side_by_side and options.resolve_version and not options.dry_run:
        action = options.resolve_version(old, new)
    if action is VersionAction.SKIP:
        return
    if action is VersionAction.REPLACE:
        yield skill
    elif is_lower:
        _refuse_targets(skill.as_extra(), options)
        yield skill.as_extra()
    else:
        yield skill
        yield _kept(old, store)


def _kept(old: LockEntry, store: SkillStore) -> PreparedSkill:
    """Returns the installed version as an extra one. Raises ConflictError if it was edited."""
    found = prepare(store.read_installed(old), name=old.name if old.called else None, asked=old.asked)
    return replace(found, entry=replace(found.entry, version=old.version)).as_extra()


def _check_versions(old: LockEntry, new: LockEntry) -> None:
    for entry, what in ((old, "the installed"), (new, "the new")):
        if not is_version(entry.version):
            raise UsageError(
                f"{what} {entry.name} has no version, which --side-by-side needs",
                hint="--name NEW installs it under another name; an author sets `version` in SKILL.md",
            )


def _refuse_targets(skill: PreparedSkill, options: InstallOptions) -> None:
    if options.targets and options.targets != ("none",):
        raise UsageError(
            f"{skill.name} is a lower version beside the installed one, which only metier sees",
            hint="remove --target; or --name NEW installs it under another name for agents",
        )


def _is_lower(one: str, other: str) -> bool:
    return is_version(one) and is_version(other) and Version.parse(one) < Version.parse(other)


def _tag(entry: LockEntry, version: str, access: Access) -> str:
    # Imported here: a registry needs no git.
    from .fetch.git import remote_of

    url = entry.origin.url
    tags = remote_of(GitRef(host="", url=url), FetchJob(ref=url, access=access)).refs().tags
    name = entry.called or entry.name
    for tag in (f"v{version}", version, f"{name}@{version}", f"{name}-v{version}", f"{name}/v{version}", f"{name}-{version}"):
        if tag in tags:
            return tag
    known = ", ".join(sorted(tags)[-5:])
    raise NotFoundError(
        f"{url} has no tag for version {version}",
        hint=f"it has the tags {known}" if known else "it has no tags; `--ref COMMIT` names a commit",
    )
