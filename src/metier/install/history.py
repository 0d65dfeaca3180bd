"""The versions of a skill between two of them: releases of a registry, or commits of a git repository.

Nothing is installed. `SkillHistory.refs` are refs for `try_skill`.
"""

from __future__ import annotations

import os

from metier.errors import NotFoundError, UsageError
from metier.spec import Version, is_version
from metier.values import dataclass, replace

from .fetch.job import Access, FetchJob
from .lock.lock_file import REGISTRY_KINDS, LockEntry
from .refs.parsing import parse_ref
from .refs.ref_types import GitRef, LocalPath, Ref, RegistryRef, is_commit

__all__ = ["SkillHistory", "history_source", "skill_history"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillHistory:
    versions: tuple[str, ...]
    """The names to show, the good one first and the bad one last."""
    refs: tuple[str, ...]
    """The ref of each version."""
    skill: str = ""
    """The name of the skill in its source; empty if the ref names it."""


def history_source(text: str, access: Access, *, entry: LockEntry | None = None, folder: str = "") -> tuple[Ref, Access]:
    """Returns the ref of a skill's source, and the access to it.

    `entry` is the lock's entry of an installed skill, `folder` that of a skill on disk, whose git repository is its source.
    """
    if entry and entry.origin.kind in REGISTRY_KINDS:
        from .fetch.registry import locked_ref

        return locked_ref(entry.origin, access.sources), access
    if entry and entry.origin.kind == "git":
        return GitRef(host="", url=entry.origin.url, path=entry.origin.path), access
    ref: Ref = LocalPath(folder) if folder else parse_ref(text, aliases=[one.name for one in access.sources] or ["r9s"])
    if isinstance(ref, LocalPath):
        # The user named this folder, so its repository is theirs to read.
        return _repository_of(os.path.realpath(os.path.join(access.folder, os.path.expanduser(ref.path)))), replace(
            access, allow_file=True
        )
    return ref, access


def skill_history(ref: Ref, good: str, bad: str, access: Access) -> SkillHistory:
    """Returns the versions from the good one to the bad one. NotFoundError if the source does not have them in this order."""
    if isinstance(ref, RegistryRef):
        return _releases(ref, good, bad, access)
    if isinstance(ref, GitRef):
        return _commits(ref, good, bad, access)
    raise UsageError(
        f"{ref.text} has one version only",
        hint="bisect a skill of a registry or of a git repository: r9s:NAME, owner/repo/path",
    )


def _repository_of(folder: str) -> GitRef:
    root = folder
    while not os.path.exists(os.path.join(root, ".git")):
        if root == os.path.dirname(root):
            raise UsageError(f"{folder} is not in a git repository", hint="bisect a skill of a registry or of a git repository")
        root = os.path.dirname(root)
    path = os.path.relpath(folder, root).replace(os.sep, "/")
    return GitRef(host="", url=f"file://{root}", path="" if path == "." else path)


def _releases(ref: RegistryRef, good: str, bad: str, access: Access) -> SkillHistory:
    from .fetch.registry import list_releases

    # Withdrawn versions are measured too: one of them may be the one that broke it.
    known = [release.version for release in list_releases(ref, FetchJob(ref=ref.text, access=access))]
    for version in (good, bad):
        if version not in known:
            some = ", ".join(known[-5:]) or "none"
            raise NotFoundError(f"the registry has no version {version} of {ref.name}", hint=f"its last versions: {some}")
    if not Version.parse(good) < Version.parse(bad):
        raise UsageError(f"the good version {good} is not lower than the bad one {bad}", hint="swap --good and --bad")
    chosen = known[known.index(good) : known.index(bad) + 1]
    return SkillHistory(versions=tuple(chosen), refs=tuple(replace(ref, version=version).text for version in chosen))


def _commits(ref: GitRef, good: str, bad: str, access: Access) -> SkillHistory:
    # Imported here: a registry needs no git.
    from .fetch.git import remote_of

    remote = remote_of(ref, FetchJob(ref=ref.text, access=access))
    refs = remote.refs()

    def named(version: str) -> str:
        if is_commit(version):
            return version
        tagged = (f"v{version}",) if is_version(version) else ()
        return (refs.head or "") if version == "HEAD" else next(filter(None, map(refs.find, (version, *tagged))), "")

    with remote.history(named(bad) or refs.head or "", with_trees=True) as history:
        first, last = (named(version) or history.commit_of(version) for version in (good, bad))
        for version, commit in ((good, first), (bad, last)):
            if not commit or not history.commit_of(commit):
                raise NotFoundError(
                    f"{version!r} is no tag, branch or commit before {bad!r} in {ref.url}",
                    hint="name tags, branches or commits; the good one must be older than the bad one",
                )
        if not history.is_ancestor(first, last):
            raise UsageError(f"{good} is not an ancestor of {bad}", hint="swap --good and --bad, or name another good version")
        commits = [first, *history.between(first, last, ref.path)]
    if commits[-1] != last:
        commits.append(last)
    labels = [f"{commit[:10]} ({tag})" if (tag := refs.tag_of(commit)) else commit[:10] for commit in commits]
    return SkillHistory(
        versions=tuple(labels), refs=tuple(replace(ref, ref=commit, tail="").text for commit in commits), skill=ref.skill or ""
    )
