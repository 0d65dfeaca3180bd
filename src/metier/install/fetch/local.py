"""Fetches skills from this disk: a folder, a SKILL.md, an archive, or a name in a known folder."""

from __future__ import annotations

import os

from metier.archive import REPOSITORY_LIMITS
from metier.errors import RefusedError, SkillNotFoundError, UnavailableError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.ref_types import ArchiveFile, LocalName, LocalPath
from metier.sources import open_regular
from metier.spec import SKILL_FILE

from .job import Access, FetchJob
from .tree import ContentsTree, FolderTree

__all__ = ["fetch_archive_file", "fetch_name", "fetch_path", "open_archive"]

_LARGEST_ARCHIVE = 256 * 1024 * 1024


def fetch_name(ref: LocalName, job: FetchJob) -> Fetched:
    for place in job.access.places:
        folder = os.path.join(place, ref.text)
        if os.path.isfile(os.path.join(folder, SKILL_FILE)):
            return _fetch_folder(folder, job)
    if ref.version:
        raise SkillNotFoundError(
            ref.text, hint=f"{ref.name} is not installed; name its source, such as owner/repo#v{ref.version}, "
            "or set your registry: metier config set skills.registry URL",
        )  # fmt: skip
    if os.path.isdir(os.path.join(job.access.folder, ref.name)):
        raise SkillNotFoundError(ref.name, hint=f"there is a folder of that name: metier skill install ./{ref.name}")
    known = [name for place in job.access.places if os.path.isdir(place) for name in os.listdir(place)]
    raise SkillNotFoundError(ref.name, known=known)


def fetch_path(ref: LocalPath, job: FetchJob) -> Fetched:
    path = _expand(ref.path, job.access)
    if os.path.isfile(path):
        if os.path.basename(path) == SKILL_FILE:
            return _fetch_folder(os.path.dirname(path), job)
        return fetch_archive_file(ArchiveFile(ref.path), job)
    if not os.path.isdir(path):
        raise SkillNotFoundError(ref.path, hint=f"{path} does not exist")
    return _fetch_folder(path, job)


def fetch_archive_file(ref: ArchiveFile, job: FetchJob) -> Fetched:
    path = _expand(ref.path, job.access)
    try:
        if os.path.isdir(path):
            return _fetch_folder(path, job)
        with os.fdopen(open_regular(path), "rb") as stream:
            data = stream.read(_LARGEST_ARCHIVE + 1)
    except FileNotFoundError:
        raise SkillNotFoundError(ref.path, hint=f"{path} does not exist") from None
    except OSError as error:
        raise UnavailableError(f"cannot read {path}: {(error.strerror or 'error').lower()}", hint="check its permissions",
                               retryable=False) from error  # fmt: skip
    if len(data) > _LARGEST_ARCHIVE:
        raise RefusedError(
            f"{path} is larger than {_LARGEST_ARCHIVE:,} bytes", rule="download-size", hint="name a smaller archive"
        )
    return job.from_tree(open_archive(data), Origin(kind="archive", url=path))


def open_archive(data: bytes) -> ContentsTree:
    """Unpacks an archive of one skill or of a repository with many."""
    # Imported here: a folder needs no unpacking.
    from metier.archive import strip_top_folder, unpack

    return ContentsTree(strip_top_folder(unpack(data, limits=REPOSITORY_LIMITS), limits=REPOSITORY_LIMITS))


def _expand(path: str, access: Access) -> str:
    home = access.environment.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return os.path.normpath(os.path.join(access.folder, os.path.expanduser(path)))


def _fetch_folder(path: str, job: FetchJob) -> Fetched:
    return job.from_tree(FolderTree(path), Origin(kind="path", url=os.path.realpath(path)))
