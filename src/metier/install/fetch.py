"""Bring skills from wherever a ref points, as values. Nothing is written but the cache."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from metier.errors import MetierError, UnavailableError

from .fetch_local import fetch_archive_file, fetch_name, fetch_path
from .fetched import Fetched
from .fetching import Access, Choose, Job, Progress, Stage, everything
from .kinds import ArchiveFile, Git, HttpArchive, HttpSkillFile, LocalName, LocalPath, Ref, Registry, WellKnown
from .together import at_once

__all__ = ["fetch", "fetch_all"]


def fetch(ref: Ref, access: Access, *, choose: Choose = everything, progress: Progress = lambda _step: None) -> Fetched:
    """The skills of one ref that `choose` picks from what its source offers; choosing none only lists."""
    job = Job(ref=ref.text, access=access, choose=choose, progress=progress)
    try:
        fetched = _offline(ref, job) if access.offline else _dispatch(ref, job)
    except BaseException:
        job.tell(Stage.FAILED)
        raise
    job.tell(Stage.DONE)
    return fetched


def fetch_all(
    refs: Iterable[Ref], access: Access, *, choose: Choose = everything, progress: Progress = lambda _step: None
) -> tuple[Fetched | MetierError, ...]:
    """Every ref at once, in the order given. One that fails is its error in its place; the others still come."""

    def one(ref: Ref) -> Fetched | MetierError:
        try:
            return fetch(ref, access, choose=choose, progress=progress)
        except MetierError as error:
            return error

    return tuple(at_once(one, list(refs), workers=access.workers, cancelled=access.cancelled))


def _dispatch(ref: Ref, job: Job) -> Fetched:
    match ref:
        case LocalName():
            return fetch_name(ref, job)
        case LocalPath():
            return fetch_path(ref, job)
        case ArchiveFile():
            return fetch_archive_file(ref, job)
        case _:
            return _from_afar(ref, job)


def _from_afar(ref: Git | HttpArchive | HttpSkillFile | WellKnown | Registry, job: Job) -> Fetched:
    # Imported here: what is on this disk needs none of it.
    from .fetch_git import fetch_git
    from .fetch_registry import fetch_registry
    from .fetch_web import fetch_archive, fetch_site, fetch_skill_file

    match ref:
        case Git():
            return fetch_git(ref, job)
        case HttpArchive():
            return fetch_archive(ref, job)
        case HttpSkillFile():
            return fetch_skill_file(ref, job)
        case WellKnown():
            return fetch_site(ref, job)
        case Registry():
            return fetch_registry(ref, job)
        case _:
            assert_never(ref)


def _offline(ref: Ref, job: Job) -> Fetched:
    if isinstance(ref, LocalName | LocalPath | ArchiveFile):
        return _dispatch(ref, job)
    skill = ref.skill if isinstance(ref, Git | WellKnown) else None
    known = job.recalled(ref.text, skill=skill)
    if known is None:
        raise UnavailableError(f"{ref.text} is not in the cache, and --offline asks nobody else", retryable=False,
                          hint="fetch it once without --offline")  # fmt: skip
    return known
