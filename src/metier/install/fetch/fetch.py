"""Bring skills from wherever a ref points, as values. Nothing is written but the cache."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from metier.errors import MetierError, UnavailableError
from metier.install.refs.ref_types import (
    ArchiveFile,
    GitRef,
    HttpArchive,
    HttpSkillFile,
    LocalName,
    LocalPath,
    Ref,
    RegistryRef,
    WellKnown,
)

from .job import Access, Choose, FetchJob, FetchStage, Progress, choose_default
from .local import fetch_archive_file, fetch_name, fetch_path
from .parallel import run_parallel
from .results import Fetched

__all__ = ["fetch", "fetch_all"]


def fetch(ref: Ref, access: Access, *, choose: Choose = choose_default, progress: Progress = lambda _step: None) -> Fetched:
    """The skills of one ref that `choose` picks from what its source offers; choosing none only lists."""
    job = FetchJob(ref=ref.text, access=access, choose=choose, progress=progress)
    try:
        fetched = _offline(ref, job) if access.offline else _dispatch(ref, job)
    except BaseException:
        job.tell(FetchStage.FAILED)
        raise
    job.tell(FetchStage.DONE)
    return fetched


def fetch_all(
    refs: Iterable[Ref], access: Access, *, choose: Choose = choose_default, progress: Progress = lambda _step: None
) -> tuple[Fetched | MetierError, ...]:
    """Every ref at once, in the order given. One that fails is its error in its place; the others still come."""

    def one(ref: Ref) -> Fetched | MetierError:
        try:
            return fetch(ref, access, choose=choose, progress=progress)
        except MetierError as error:
            return error

    return tuple(run_parallel(one, list(refs), workers=access.workers, cancelled=access.cancelled))


def _dispatch(ref: Ref, job: FetchJob) -> Fetched:
    match ref:
        case LocalName():
            return fetch_name(ref, job)
        case LocalPath():
            return fetch_path(ref, job)
        case ArchiveFile():
            return fetch_archive_file(ref, job)
        case _:
            return _from_afar(ref, job)


def _from_afar(ref: GitRef | HttpArchive | HttpSkillFile | WellKnown | RegistryRef, job: FetchJob) -> Fetched:
    # Imported here: what is on this disk needs none of it.
    from .git import fetch_git
    from .registry import fetch_registry
    from .web import fetch_archive, fetch_site, fetch_skill_file

    match ref:
        case GitRef():
            return fetch_git(ref, job)
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
        raise UnavailableError(f"{ref.text} is not in the cache, and --offline asks nobody else", retryable=False,
                          hint="fetch it once without --offline")  # fmt: skip
    return known
