"""Fetches skills from a git repository."""

from __future__ import annotations

from metier.install.git.remote import GitRemote
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.ref_types import GitRef

from .job import FetchJob, FetchStage

__all__ = ["fetch_git", "remote_of"]


def fetch_git(ref: GitRef, job: FetchJob) -> Fetched:
    job.report(FetchStage.ASKING)
    remote = remote_of(ref, job)
    resolved = remote.resolve(ref.candidates)
    at = f"{ref.url}@{resolved.commit}:{resolved.path}" + (" full" if job.access.full_depth else "")
    asked = ref.ref or (resolved.ref if ref.tail else None) or ""
    origin = Origin(kind="git", url=ref.url, path=resolved.path, ref=asked, commit=resolved.commit)
    fetched = job.recalled(at, origin=origin, skill=ref.skill)
    if fetched is None:
        job.report(FetchStage.FETCHING)
        with remote.tree(resolved.commit, below=resolved.path) as tree:
            fetched = job.from_tree(tree, origin, skill=ref.skill, key=at)
    job.remember_ref(at, origin)
    return fetched


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
