"""A ClawHub registry with the methods of a registry client: search, details, versions and publish.

Its answers have the fields of metier's own registry, as far as ClawHub has them, so that commands need one way to show both.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from metier.archive import Contents, Member, read_contents
from metier.errors import ConflictError, NotFoundError, RefusedError, UnavailableError, UsageError
from metier.registry.client import CheckedSkill, Json, PublishOptions, PublishReceipt, PublishResult, check_skill
from metier.spec import SKILL_FILE, Version, is_version
from metier.values import dataclass

from .fetch.clawhub import files_fingerprint
from .fetch.clawhub_client import ClawHubClient, ClawHubRelease, ClawHubSkill
from .fetch.credentials import CLAWHUB, RegistrySource, origin_of
from .fetch.job import Access

__all__ = ["ClawHubRegistry"]

_SORTS = {"": "updated", "updated": "updated", "downloads": "downloads", "name": "name"}
_VERDICTS = {"suspicious": "review", "malicious": "block"}
_FIRST_VERSION = "0.1.0"
_LAST_MILLIS = 253_402_300_800_000
"""The end of the year 9999, after which there are no dates."""


@dataclass(frozen=True, kw_only=True)
class ClawHubRegistry:
    source: RegistrySource
    access: Access

    @property
    def url(self) -> str:
        return self.source.url

    # Reads

    def search(self, query: str, *, limit: int = 20, cursor: str = "", **filters: str) -> Json:
        """Returns one page of skills. Raises UsageError for a filter that ClawHub does not have."""
        sort = filters.pop("sort", "")
        if used := [f"--{name}" for name, value in filters.items() if value]:
            raise UsageError(f"{self.source.name} cannot filter by {', '.join(used)}", hint="search without it")
        client = self._client()
        if not query.strip():
            if sort not in _SORTS:
                raise UsageError(f"{self.source.name} cannot sort by {sort} without words", hint="give words to search for")
            found, following = client.list_skills(limit=limit, sort=_SORTS[sort], cursor=cursor)
        elif sort not in ("", "relevance") or cursor:
            hint = "search without --sort and --cursor, or list all skills without words"
            raise UsageError(f"{self.source.name} sorts a search by relevance, and has one page of it", hint=hint)
        else:
            found, following = client.search(query, limit=limit), None
        return {"skills": [_summary(skill) for skill in found[:limit]], "next": following}

    def skill(self, name: str) -> Json:
        client, (owner, plain) = self._client(), split_owner(name)
        return _summary(client.skill(plain, owner))

    def versions(self, name: str) -> Json:
        client, (owner, plain) = self._client(), split_owner(name)
        skill = client.skill(plain, owner)
        rows = client.releases(skill.name, skill.owner)
        rows.sort(key=lambda row: Version.parse(row.version if is_version(row.version) else "0.0.0"), reverse=True)
        return {"name": skill.qualified_name, "versions": [_version(row) for row in rows], "tags": dict(skill.tags)}

    def version(self, name: str, version: str) -> Json:
        client, (owner, plain) = self._client(), split_owner(name)
        skill = client.skill(plain, owner)
        wanted = skill.tags.get(version, skill.version if version == "latest" else version)
        verdict = _VERDICTS.get(skill.verdict, "")
        return {**_version(client.release(skill.name, wanted, skill.owner)), "publisher": skill.owner, "verdict": verdict}

    # Changes

    def publish(self, folder: str, options: PublishOptions) -> PublishResult:
        """Publishes the skill in `folder`. Raises InvalidSkillError, and ConflictError for a version with other files."""
        if options.visibility != "public":
            terms = " under the licence MIT-0" if self.url == CLAWHUB.url else ""
            raise RefusedError(
                f"{self.url} may show the skill to everyone who can reach it{terms}", rule="public",
                hint=f"metier publish {folder} --registry {self.source.name} --public",
            )  # fmt: skip
        self.access.rules.check(self.url)
        checked = check_skill(folder, options)
        name, contents = checked.admission.name, read_contents(checked.files)
        client = self._client()
        hashes = {member.path: hashlib.sha256(member.data).hexdigest() for member in contents.members}
        owner = options.namespace or client.user()
        version, is_new = self._next_version(client, checked, owner, hashes)
        status = "published"
        if is_new and not options.dry_run and not checked.admission.is_refused:
            payload = {
                "slug": name, "displayName": name, "version": version, "changelog": "", "acceptLicenseTerms": True,
                "tags": ["latest"], **({"ownerHandle": owner} if owner else {}),
            }  # fmt: skip
            status = str(self._upload(client, payload, contents, hashes).get("publicationStatus") or "published")
        return self._result(checked, version, owner, is_new, options, is_pending=status == "pending")

    def _next_version(
        self, client: ClawHubClient, checked: CheckedSkill, owner: str, hashes: Mapping[str, str]
    ) -> tuple[str, bool]:
        """Returns the version to publish, and False if it is there with these files."""
        name, wanted = checked.admission.name, checked.admission.version
        try:
            there = client.skill(name, owner)
            taken = [row.version for row in client.releases(name, owner)]
        except NotFoundError:
            return wanted or _FIRST_VERSION, True
        same = client.find_files(name, files_fingerprint(hashes), owner)
        if same and wanted in (None, same):
            return same, False
        if wanted in taken:
            raise ConflictError(
                f"{there.qualified_name} {wanted} exists with other files, and a published version never changes",
                hint="raise metadata.version, or pass --version",
            )
        highest = max((Version.parse(row) for row in taken if is_version(row)), default=None)
        return wanted or (str(highest.next_patch) if highest else _FIRST_VERSION), True

    def _upload(self, client: ClawHubClient, payload: Json, contents: Contents, hashes: Mapping[str, str]) -> Json:
        rows: list[Json] = []
        for member in contents.members:
            row = {"path": member.path, "size": len(member.data), "sha256": hashes[member.path], "contentType": _type(member)}
            ticket = client.start_upload(row)
            if ticket is None:
                return client.publish(*_multipart(payload, contents))
            url = ticket.get("uploadUrl")
            if not isinstance(url, str) or not origin_of(url):
                raise UnavailableError(f"{self.url} did not say where to upload to", hint="report it to the registry",
                                       retryable=False)  # fmt: skip
            stored = client.upload(url, member.data, _type(member)).get("storageId")
            rows.append({**row, "storageId": stored, "uploadTicket": ticket.get("uploadTicket")})
        return client.publish(json.dumps({**payload, "files": rows}).encode(), "application/json")

    def _result(
        self, checked: CheckedSkill, version: str, owner: str, is_new: bool, options: PublishOptions, *, is_pending: bool
    ) -> PublishResult:
        made = checked.admission
        receipt = PublishReceipt(
            name=f"@{owner}/{made.name}" if owner else made.name, version=version, digest=made.digest, archive_digest="",
            size=len(made.archive), url="", download_url="", created=is_new, dry_run=options.dry_run,
            verdict="refused" if made.is_refused else str(made.verdict), files=list(made.details.files),
            findings=list(made.findings),
            page=f"{self.url}/{owner}/skills/{made.name}" if self.url == CLAWHUB.url and owner else "",
        )  # fmt: skip
        return PublishResult(
            registry=self.url,
            receipt=receipt,
            left_out=checked.files.left_out,
            links=checked.files.links,
            is_pending=is_pending,
        )

    def _client(self) -> ClawHubClient:
        self.source.check_granted()
        if self.access.offline:
            raise UnavailableError(f"cannot contact {self.url} while offline", hint="run it without --offline")
        return ClawHubClient(url=self.url, access=self.access)


def split_owner(name: str) -> tuple[str, str]:
    """Splits `@OWNER/NAME` and `OWNER/NAME`; the owner may be missing."""
    owner, _, plain = name.rpartition("/")
    return owner.removeprefix("@").lower(), plain


def _summary(skill: ClawHubSkill) -> Json:
    return {
        "name": skill.qualified_name, "description": skill.summary, "version": skill.version, "owner": skill.owner,
        "downloads": skill.downloads, "verdict": _VERDICTS.get(skill.verdict, ""), "updated": _date(skill.updated),
    }  # fmt: skip


def _version(release: ClawHubRelease) -> Json:
    return {"version": release.version, "published": _date(release.created), "license": release.license}


def _date(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if 0 < millis < _LAST_MILLIS else ""


def _type(member: Member) -> str:
    if member.path.rpartition("/")[2] == SKILL_FILE:
        return "text/markdown"
    return mimetypes.guess_type(member.path)[0] or "application/octet-stream"


def _multipart(payload: Json, contents: Contents) -> tuple[bytes, str]:
    """Returns the body and the content type of a form with `payload`, and one part `files` for each file."""
    boundary = secrets.token_hex(16)

    def parts() -> Iterator[bytes]:
        yield _part(boundary, 'name="payload"', "application/json", json.dumps(payload).encode())
        for member in contents.members:
            path = member.path.replace("\\", "\\\\").replace('"', "%22")
            yield _part(boundary, f'name="files"; filename="{path}"', _type(member), member.data)
        yield f"--{boundary}--\r\n".encode()

    return b"".join(parts()), f"multipart/form-data; boundary={boundary}"


def _part(boundary: str, names: str, content_type: str, data: bytes) -> bytes:
    head = f"--{boundary}\r\nContent-Disposition: form-data; {names}\r\nContent-Type: {content_type}\r\n\r\n"
    return head.encode() + data + b"\r\n"
