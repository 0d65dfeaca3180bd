"""Fetches skills from a git repository."""

from __future__ import annotations

from metier.install.git.remote import GitRemote, Resolved
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.ref_types import GitRef
from metier.values import replace

from .cooldown import utc
from .job import Access, FetchJob, FetchStage

__all__ = ["fetch_git", "old_enough", "remote_of"]


def fetch_git(ref: GitRef, job: FetchJob) -> Fetched:
    job.report(FetchStage.ASKING)
    remote = remote_of(ref, job)
    resolved = remote.resolve(ref.candidates)
    resolved, held = old_enough(remote, resolved, job.access)
    at = f"{ref.url}@{resolved.commit}:{resolved.path}" + (" full" if job.access.full_depth else "")
    asked = ref.ref or (resolved.ref if ref.tail else None) or ""
    origin = Origin(kind="git", url=ref.url, path=resolved.path, ref=asked, commit=resolved.commit)
    fetched, stated = job.recalled(at, origin=origin, skill=ref.skill), None
    if fetched is None:
        job.report(FetchStage.FETCHING)
        with remote.tree(resolved.commit, below=resolved.path) as tree:
            fetched, stated = job.from_tree(tree, origin, skill=ref.skill, key=at), tree.time
    job.remember_ref(at, origin)
    return job.dated(fetched, stated, resolved.commit, held=held)


def old_enough(remote: GitRemote, resolved: Resolved, access: Access) -> tuple[Resolved, str]:
    """Returns the newest commit of a branch that the cool-down lets pass, and the one that it holds back."""
    cooldown, cache = access.cooldown, access.cache
    if cooldown is None or not resolved.is_branch:
        return resolved, ""
    before, seen = cooldown.last_look(cache, f"{remote.url}#{resolved.ref}", resolved.commit)
    with remote.history(resolved.commit) as history:
        published = max(history.time_of(resolved.commit), seen)
        end = cooldown.ends(published)
        # What came since the last look is as new as that, whatever its date.
        start = before if cooldown.ends(seen) else resolved.commit
        older = history.before(start, cooldown.now() - cooldown.seconds) if end and start else ""
    if cache:
        cache.remember(f"age {resolved.commit}", {"published": published})
    if not end or not older:
        return resolved, ""
    return replace(resolved, commit=older), f"{resolved.commit[:10]} until {utc(end)}"


def remote_of(ref: GitRef, job: FetchJob) -> GitRemote:
    access = job.access
    return GitRemote(
        url=ref.url,
        program=access.git,
        http=access.http,
        credentials=access.credentials,
        allow_file=access.allow_file,
        insecure=access.insecure,
        grown=lambda size: job.report(FetchStage.FETCHING, size),
    )
