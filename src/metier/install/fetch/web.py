"""Fetches skills from a URL: an archive, one SKILL.md, or a site with an index."""

from __future__ import annotations

from urllib.parse import quote, urljoin

from metier.archive import Contents, Member, archive_error, sniff_format, unpack
from metier.errors import MetierError, NotFoundError, RefusedError
from metier.install.lock.lock_file import Origin
from metier.install.protocols import Fetched
from metier.install.refs.forges import read_address
from metier.install.refs.ref_types import GitRef, HttpArchive, HttpSkillFile, WellKnown
from metier.spec import SKILL_FILE, parse

from .credentials import Headers
from .http import HttpNotFoundError, HttpRefusedError, HttpReply
from .job import FetchJob, FetchStage
from .local import open_archive
from .repository import FoundSkill, SkillSearch
from .tree import ContentsTree
from .wellknown import WellKnownIndex, WellKnownSkill, check_digest, index_urls, read_index

__all__ = [
    "LARGEST_ARCHIVE",
    "LARGEST_INDEX",
    "LARGEST_SKILL_FILE",
    "fetch_archive",
    "fetch_site",
    "fetch_skill_file",
    "get",
    "single_file",
]

LARGEST_ARCHIVE = 64 * 1024 * 1024
LARGEST_INDEX = 4 * 1024 * 1024
LARGEST_SKILL_FILE = 1024 * 1024


def fetch_archive(ref: HttpArchive, job: FetchJob) -> Fetched:
    return _direct(ref.url, job, ref.text)


def fetch_skill_file(ref: HttpSkillFile, job: FetchJob) -> Fetched:
    return _direct(ref.url, job, ref.text)


def fetch_site(ref: WellKnown, job: FetchJob) -> Fetched:
    """Fetches from the site's index; without one, from the URL itself, which may also be a git repository."""
    job.report(FetchStage.ASKING)
    for url in index_urls(ref.url, legacy=job.access.old_index):
        try:
            reply = get(job, url, limit=LARGEST_INDEX)
        except (HttpNotFoundError, HttpRefusedError):
            # A site without an index may answer "forbidden".
            continue
        if reply.content_type in ("text/html", "application/xhtml+xml"):
            # A site that answers every URL with a page has no index.
            continue
        # The lock keeps the address before redirects: that is the one that the user has named.
        return _read_index(read_index(reply.body, reply.url, legacy=job.access.old_index), url, ref, job)
    try:
        return _direct(ref.url, job, ref.text)
    except (NotFoundError, RefusedError) as error:
        # A forge shows a page at the address of a repository, or nothing without a login.
        found = _repository(ref, job)
        if found is not None:
            return found
        raise _nothing(ref, error) if isinstance(error, HttpNotFoundError) else error from error


def _repository(ref: WellKnown, job: FetchJob) -> Fetched | None:
    """Fetches the git repository at the URL of a site; None if git finds none there."""
    # Imported here: most sites are no repositories.
    from .git import fetch_git, remote_of

    found = GitRef(host=read_address(ref.url).host, url=ref.url, skill=ref.skill)
    try:
        remote_of(found, job).resolve(found.candidates)
    except MetierError:
        return None
    return fetch_git(found, job)


def get(job: FetchJob, url: str, *, limit: int, via: str | None = None, etag: str | None = None) -> HttpReply:
    """GETs a URL with its credentials, and again with the forge's token if access is denied."""
    access = job.access
    headers: Headers = access.credentials.given(url)
    try:
        return access.http.get(url, limit=limit, headers=headers, via=via, etag=etag, received=job.received)
    except (HttpRefusedError, HttpNotFoundError):
        token = access.credentials.token(url)
        if not token or any(name.lower() == "authorization" for name, _ in headers):
            raise
        more = (*headers, ("Authorization", f"Bearer {token}"))
        return access.http.get(url, limit=limit, headers=more, via=via, etag=etag, received=job.received)


def _direct(url: str, job: FetchJob, key: str) -> Fetched:
    """Fetches an archive or a SKILL.md, distinguished by its bytes."""
    job.report(FetchStage.FETCHING)
    record = (job.access.cache.recall(key) if job.access.cache else None) or {}
    known = job.recalled(key) if record.get("etag") else None
    reply = get(job, url, limit=LARGEST_ARCHIVE, etag=record["etag"] if known else None)
    if reply.status == 304 and known:
        return job.dated(known, None, _bytes_key(known, key))
    tree = open_archive(reply.body) if sniff_format(reply.body) else single_file(reply)
    fetched = job.from_tree(tree, Origin(kind="http", url=url, etag=reply.etag or ""), key=key)
    if job.access.cache:
        job.access.cache.remember(key, {"etag": reply.etag})
    return job.dated(fetched, reply.modified, _bytes_key(fetched, key))


def _bytes_key(fetched: Fetched, key: str) -> str:
    """Returns the key of an age: a file that is replaced has an age of its own."""
    return fetched.skills[0].digest if fetched.skills else key


def single_file(reply: HttpReply) -> ContentsTree:
    """Returns a skill of one file."""
    if (
        len(reply.body) > LARGEST_SKILL_FILE
        or reply.content_type == "text/html"
        or parse(reply.body, folder="skill").manifest is None
    ):
        begins = ascii(reply.body[:24].decode("utf-8", "replace"))
        raise archive_error("format", f"{reply.url.partition('?')[0]} is neither an archive nor a {SKILL_FILE}: {begins}",
                            hint="check the address: error pages and login pages come as HTML")  # fmt: skip
    return ContentsTree(Contents([Member(SKILL_FILE, reply.body)]))


def _read_index(index: WellKnownIndex, asked: str, ref: WellKnown, job: FetchJob) -> Fetched:
    listed = {one.name: one for one in index.skills}
    offered = tuple(FoundSkill(name=one.name, path=one.name, description=one.description) for one in listed.values())
    search = SkillSearch(found=offered, warnings=index.warnings)
    wanted = job.chosen(search, ref.skill)
    job.report(FetchStage.FETCHING)
    brought = []
    for found in wanted:
        one = listed[found.name]
        origin = Origin(kind="well-known", url=asked, path=found.path, etag=one.digest)
        brought.append((found, _listed(one, index, job), origin))
    return job.kept(search, tuple(brought), ref.text)


def _listed(one: WellKnownSkill, index: WellKnownIndex, job: FetchJob) -> Contents:
    cache, key = job.access.cache, f"artifact {one.digest}"
    if cache and one.digest and (known := (cache.recall(key) or {}).get("digest")) and (contents := cache.get(known)):
        return contents
    if one.kind == "files":
        limits, urls = job.access.limits, {path: urljoin(one.url, quote(path)) for path in one.files}
        bodies = {path: get(job, url, limit=limits.file, via=index.url).body for path, url in urls.items()}
        return Contents([Member(path, body) for path, body in bodies.items()], limits=limits)
    limit = LARGEST_ARCHIVE if one.kind == "archive" else LARGEST_SKILL_FILE
    reply = get(job, one.url, limit=limit, via=index.url)
    check_digest(reply.body, one)
    if one.kind == "skill-md":
        contents = Contents([Member(SKILL_FILE, reply.body)])
    else:
        contents = unpack(reply.body, limits=job.access.limits)
        if SKILL_FILE not in {member.path for member in contents.members}:
            raise archive_error(
                "no-skill", f"the archive of {one.name} has no {SKILL_FILE} at its top", hint="report it to the site"
            )
    if cache:
        cache.remember(key, {"digest": cache.put(contents)})
    return contents


def _nothing(ref: WellKnown, error: HttpNotFoundError) -> NotFoundError:
    return HttpNotFoundError(
        f"{ref.url} has no index of skills, and is neither an archive nor a SKILL.md",
        hint=f"if it is a git repository, write git+{ref.url}",
        status=error.status,
    )
