"""Fetches skills from a ClawHub registry: `clawhub:NAME`, `clawhub:@OWNER/NAME@VERSION`.

The lock keeps the owner, so that an update never follows a name to another owner. Files are compared with the hashes that the
registry lists for the version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from metier.archive import REPOSITORY_LIMITS, Contents, sniff_format, strip_top_folder, unpack
from metier.errors import NotFoundError, RefusedError, SkillNotFoundError, UnavailableError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.ref_types import RegistryRef
from metier.spec import is_version
from metier.values import replace

from .clawhub_client import ClawHubClient, ClawHubRelease, ClawHubSkill
from .cooldown import utc
from .credentials import RegistrySource
from .http import HttpReply
from .job import FetchJob, FetchStage
from .registry import RemoteRelease, best_release, first_to_answer, select_release
from .tree import ContentsTree

__all__ = ["fetch_clawhub", "files_fingerprint", "find_clawhub_release", "list_clawhub_releases"]

_META = "_meta.json"
"""A file that ClawHub adds to its archives; it belongs to no version."""


def fetch_clawhub(ref: RegistryRef, job: FetchJob, source: RegistrySource) -> Fetched:
    return first_to_answer(source, lambda url: _fetched(ref, job, source, _client(url, job)))


def find_clawhub_release(ref: RegistryRef, job: FetchJob, source: RegistrySource) -> RemoteRelease:
    """Returns the release that the ref resolves to. Nothing is downloaded."""
    return first_to_answer(source, lambda url: _resolved(ref, job, _client(url, job))[1])


def list_clawhub_releases(ref: RegistryRef, job: FetchJob, source: RegistrySource) -> list[RemoteRelease]:
    return first_to_answer(source, lambda url: list(map(_remote, _client(url, job).releases(ref.name, ref.owner))))


def files_fingerprint(files: Mapping[str, str]) -> str:
    """Returns the hash by which ClawHub finds a version: SHA-256 over lines of `path:sha256`."""
    return hashlib.sha256("\n".join(f"{path}:{files[path]}" for path in sorted(files)).encode()).hexdigest()


def _client(url: str, job: FetchJob) -> ClawHubClient:
    return ClawHubClient(url=url, access=job.access, received=job.received)


def _fetched(ref: RegistryRef, job: FetchJob, source: RegistrySource, client: ClawHubClient) -> Fetched:
    skill, release = _resolved(ref, job, client)
    # The registry's own URL, also if a mirror answered: it is the same skill.
    home = f"{source.url}/{skill.qualified_name}"
    job.access.rules.check(home)
    _check_verdict(skill, source)
    origin = Origin(kind="clawhub", url=home, ref=ref.version or "", version=release.version, commit=release.fingerprint)
    key = f"{home}@{release.version} {release.fingerprint}"
    fetched = job.recalled(key, origin=origin) if release.fingerprint else None
    if fetched is None:
        job.report(FetchStage.FETCHING)
        fetched = job.from_tree(ContentsTree(_contents(skill, release, client)), origin, key=key)
    job.remember_ref(key, origin)
    if skill.verdict:
        why = f" ({', '.join(skill.reasons)})" if skill.reasons else ""
        fetched = replace(fetched, warnings=(*fetched.warnings, f"{source.name} marks {skill.name} as {skill.verdict}{why}"))
    return job.dated(fetched, release.published, key, held=release.held)


def _check_verdict(skill: ClawHubSkill, source: RegistrySource) -> None:
    if skill.verdict == "malicious":
        why = f": {', '.join(skill.reasons)}" if skill.reasons else ""
        raise RefusedError(
            f"{source.name} blocks {skill.qualified_name} as malware{why}", rule="registry-verdict", hint="use another skill"
        )


def _resolved(ref: RegistryRef, job: FetchJob, client: ClawHubClient) -> tuple[ClawHubSkill, RemoteRelease]:
    job.report(FetchStage.ASKING)
    try:
        skill = client.skill(ref.name, ref.owner)
    except NotFoundError as error:
        raise SkillNotFoundError(ref.text, hint=f"{error}; {error.hint}" if error.hint else str(error)) from error
    release = _selected(ref, job, client, skill)
    if release.files or not release.version:
        return skill, release
    try:
        details = client.release(skill.name, release.version, skill.owner)
    except NotFoundError:
        # Not every server describes single versions; the download says whether it is there.
        return skill, release
    stated = _remote(details)
    return skill, replace(stated, held=release.held, published=stated.published or release.published)


def _selected(ref: RegistryRef, job: FetchJob, client: ClawHubClient, skill: ClawHubSkill) -> RemoteRelease:
    cooldown = job.access.cooldown
    if not ref.version and not cooldown and skill.version:
        return RemoteRelease(version=skill.version)
    if ref.version and is_version(ref.version) and not cooldown:
        try:
            return _remote(client.release(skill.name, ref.version, skill.owner))
        except NotFoundError:
            # The list below has the versions that there are, for the message.
            pass
    every = list(map(_remote, client.releases(skill.name, skill.owner)))
    if not every and not ref.version:
        # ClawHub lists skills of GitHub without versions; the download says where they are.
        return RemoteRelease()
    old = [one for one in every if not cooldown or cooldown.ends(one.published) is None]
    found = best_release(ref, old, every, skill.tags)
    newest = select_release(ref, every, skill.tags)
    end = cooldown.ends(newest.published) if cooldown and newest.version != found.version else None
    return replace(found, held=f"{newest.version} until {utc(end)}" if end else "")


def _remote(release: ClawHubRelease) -> RemoteRelease:
    return RemoteRelease(
        version=release.version, published=release.created / 1000 if release.created else None, files=release.files,
        fingerprint=f"sha256:{files_fingerprint(release.files)}" if release.files else "",
    )  # fmt: skip


def _contents(skill: ClawHubSkill, release: RemoteRelease, client: ClawHubClient) -> Contents:
    reply = client.archive(skill.name, release.version, skill.owner)
    if not sniff_format(reply.body):
        raise _no_archive(reply, skill, client)
    contents = unpack(reply.body, limits=REPOSITORY_LIMITS)
    if _META not in release.files:
        members = [member for member in contents.members if member.path != _META]
        contents = Contents(members, contents.links, limits=REPOSITORY_LIMITS)
    if release.files:
        actual = {member.path: hashlib.sha256(member.data).hexdigest() for member in contents.members}
        wrong = sorted({path for path in {*actual, *release.files} if actual.get(path) != release.files.get(path)})
        if wrong or contents.links:
            raise RefusedError(
                f"the files of {skill.qualified_name} {release.version} differ from the hashes that {client.url} lists:"
                f" {', '.join(wrong[:3]) or 'a link'}",
                rule="digest-mismatch", hint="report it to the registry",
            )  # fmt: skip
    return strip_top_folder(contents, limits=REPOSITORY_LIMITS)


def _no_archive(reply: HttpReply, skill: ClawHubSkill, client: ClawHubClient) -> Exception:
    """Returns the error for a download that is no archive. ClawHub does not host what it found on GitHub."""
    try:
        value = json.loads(reply.body)
        place, commit = f"{value['repo']}/{value['path']}".rstrip("/."), value["commit"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind = reply.content_type[:60] or "no content type"
        return UnavailableError(
            f"{client.url} sent no archive of {skill.qualified_name} ({kind})", hint="report it to the registry",
            retryable=False,
        )  # fmt: skip
    return SkillNotFoundError(
        skill.qualified_name, hint=f"{client.url} has it from GitHub: metier install 'github:{place}#{commit}'"
    )
