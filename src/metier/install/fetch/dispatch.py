"""Fetches the skills of a ref into memory. Only the cache is written."""

from __future__ import annotations

from typing import assert_never

from metier.errors import UnavailableError
from metier.install.protocols import Fetched
from metier.install.refs.ref_types import (
    ArchiveFile,
    GitRef,
    HttpArchive,
    HttpSkillFile,
    LocalName,
    LocalPath,
    OciRef,
    Ref,
    RegistryRef,
    WellKnown,
)
from metier.values import replace

from .job import Access, Choose, FetchJob, FetchStage, Progress, choose_default, ignore_progress
from .local import fetch_archive_file, fetch_name, fetch_path

__all__ = ["fetch_ref"]


def fetch_ref(ref: Ref, access: Access, *, choose: Choose = choose_default, progress: Progress = ignore_progress) -> Fetched:
    """Returns the skills that `choose` picks from what the source offers. If it picks none, the result only lists them."""
    access.rules.check(access.url_of(ref))
    access = access.with_headers_for([access.url_of(ref)], is_typed=True)
    job = FetchJob(ref=ref.text, access=access, choose=choose, progress=progress)
    try:
        fetched = _offline(ref, job) if access.offline else _dispatch(ref, job)
    except BaseException:
        job.report(FetchStage.FAILED)
        raise
    job.report(FetchStage.DONE)
    return replace(fetched, skills=tuple(access.check_signatures(access.judge_age(skill)) for skill in fetched.skills))


def _dispatch(ref: Ref, job: FetchJob) -> Fetched:
    match ref:
        case LocalName():
            return fetch_name(ref, job)
        case LocalPath():
            return fetch_path(ref, job)
        case ArchiveFile():
            return fetch_archive_file(ref, job)
        case _:
            return _fetch_remote(ref, job)


def _fetch_remote(ref: GitRef | OciRef | HttpArchive | HttpSkillFile | WellKnown | RegistryRef, job: FetchJob) -> Fetched:
    # Imported here: a local folder needs neither git nor HTTP.
    from .git import fetch_git
    from .oci import fetch_oci
    from .registry import fetch_registry
    from .web import fetch_archive, fetch_site, fetch_skill_file

    match ref:
        case GitRef():
            return fetch_git(ref, job)
        case OciRef():
            return fetch_oci(ref, job)
        case HttpArchive():
            return fetch_archive(ref, job)
        case HttpSkillFile():
            return fetch_skill_file(ref, job)
        case WellKnown():
            return fetch_site(ref, job)
        case RegistryRef():
            return fetch_registry(ref, job)
        case _:
            assert_never(ref)


def _offline(ref: Ref, job: FetchJob) -> Fetched:
    if isinstance(ref, LocalName | LocalPath | ArchiveFile):
        return _dispatch(ref, job)
    skill = ref.skill if isinstance(ref, GitRef | WellKnown) else None
    known = job.recalled(ref.text, skill=skill)
    if known is None:
        raise UnavailableError(f"{ref.text} is not in the cache, and --offline allows no network", retryable=False,
                               hint="run it once without --offline")  # fmt: skip
    return known
