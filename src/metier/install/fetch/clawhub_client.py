"""A client of the ClawHub API v1, over the one HTTP client. clawhub.ai and JFrog Artifactory speak it, and metier's registry.

Errors of this API are plain text for people, so they are passed on. Answers differ between servers: a field that one of them
leaves out is empty here, and one of the wrong type is an error. Credentials go to the registry's own origin only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from metier.errors import ConflictError, MetierError, NotFoundError, RefusedError, UnavailableError
from metier.spec import is_name
from metier.values import dataclass, field

from .credentials import Headers, origin_of
from .http import HttpReply, HttpUnavailableError
from .job import Access

__all__ = ["ClawHubClient", "ClawHubRelease", "ClawHubSkill"]

Json = dict[str, Any]  # Any: untrusted JSON
_LARGEST_ARCHIVE = 64 * 1024 * 1024
_MOST_PAGES = 50
_READ = frozenset({200, 400, 403, 404, 409, 410, 422, 451})
_WRITE = frozenset({200, 201, 202, 400, 401, 403, 404, 405, 409, 410, 413, 422})
_DONE = frozenset({200, 201, 202})
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{64}")
_TEXT_LENGTH = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ClawHubSkill:
    name: str
    owner: str = ""
    """Empty if the registry has no owners."""
    summary: str = ""
    version: str = ""
    """The newest one."""
    tags: Mapping[str, str] = field(default_factory=dict)
    downloads: int = 0
    updated: int = 0
    """In milliseconds since 1970."""
    verdict: str = ""
    """`suspicious` or `malicious`, if the registry's own scan says so."""
    reasons: tuple[str, ...] = ()

    @property
    def qualified_name(self) -> str:
        return f"@{self.owner}/{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ClawHubRelease:
    version: str
    created: int = 0
    """In milliseconds since 1970."""
    license: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each file; empty if the registry does not list them."""


@dataclass(kw_only=True)
class ClawHubClient:
    url: str
    """The registry's address, without `/api/v1`."""
    access: Access
    received: Callable[[int, int | None], None] = lambda _done, _of: None

    def skill(self, name: str, owner: str = "") -> ClawHubSkill:
        """Raises NotFoundError, also if the skill of that name is another owner's."""
        answer = self._get(f"/skills/{quote(name, safe='')}", ownerHandle=owner)
        # Artifactory answers with the skill itself.
        found = self._skill({**answer, **_table(answer.get("skill"))}, name)
        if owner and found.owner and found.owner != owner.lower():
            raise NotFoundError(f"{self.url} has no {name} of {owner}", hint=f"there is {found.qualified_name}")
        return found

    def search(self, query: str, *, limit: int) -> list[ClawHubSkill]:
        rows = self._rows(self._get("/search", q=query, limit=str(limit)), "results")
        return [self._skill(row, "") for row in rows if is_name(str(row.get("slug") or row.get("name")))]

    def list_skills(self, *, limit: int, sort: str, cursor: str) -> tuple[list[ClawHubSkill], str | None]:
        answer = self._get("/skills", limit=str(limit), sort=sort, cursor=cursor)
        rows = [self._skill(row, "") for row in self._rows(answer, "items") if is_name(str(row.get("slug")))]
        return rows, _text(answer.get("nextCursor")) or None

    def releases(self, name: str, owner: str = "") -> list[ClawHubRelease]:
        return [self._release(row) for row in self._pages(f"/skills/{quote(name, safe='')}/versions", owner)]

    def release(self, name: str, version: str, owner: str = "") -> ClawHubRelease:
        """Returns one version with its files. Raises NotFoundError."""
        path = f"/skills/{quote(name, safe='')}/versions/{quote(version, safe='')}"
        answer = self._get(path, ownerHandle=owner)
        found = self._release(_table(answer.get("version")) or answer)
        if found.version != version:
            raise self._invalid(f"{found.version!r} for the version {version}")
        return found

    def archive(self, name: str, version: str, owner: str = "") -> HttpReply:
        query = {"slug": name, "version": version, "ownerHandle": owner}
        url = self._address("/download", query)
        return self.access.http.get(url, limit=_LARGEST_ARCHIVE, headers=self._headers(url), received=self.received)

    def find_files(self, name: str, fingerprint: str, owner: str) -> str:
        """Returns the version that has exactly these files, if there is one."""
        try:
            match = self._get("/resolve", slug=name, hash=fingerprint, ownerHandle=owner).get("match")
        except NotFoundError:
            return ""
        return _text(_table(match).get("version"))

    def user(self) -> str:
        """Returns the handle of the token's user; empty if the registry does not tell."""
        try:
            user = self._get("/whoami").get("user")
        except NotFoundError:
            return ""
        return _text(_table(user).get("handle")).lstrip("@")

    def start_upload(self, request: Mapping[str, object]) -> Json | None:
        """Asks for the address of one file. Returns None if the registry takes all files in one request."""
        reply = self._post(self._address("/skills/-/upload-url"), json.dumps(request).encode(), "application/json")
        return None if reply.status in (404, 405) else self._object(reply)

    def upload(self, url: str, data: bytes, content_type: str) -> Json:
        if self.url.startswith("https:") and not url.startswith("https:"):
            raise RefusedError(f"{self.url} wants files to go to an address that is not https", rule="https-only",
                               hint="report it to the registry")  # fmt: skip
        return self._object(self._post(url, data, content_type))

    def publish(self, body: bytes, content_type: str) -> Json:
        return self._object(self._post(self._address("/skills"), body, content_type))

    def _post(self, url: str, body: bytes, content_type: str) -> HttpReply:
        headers = (*self._headers(url), ("Content-Type", content_type))
        return self.access.http.send("POST", url, headers=headers, body=body, accepts=_WRITE, via=self.url)

    def _pages(self, path: str, owner: str) -> Iterator[Json]:
        seen, cursor = set[str](), ""
        while cursor not in seen and len(seen) < _MOST_PAGES:
            seen.add(cursor)
            answer = self._get(path, ownerHandle=owner, limit="100", cursor=cursor)
            yield from self._rows(answer, "items")
            cursor = _text(answer.get("nextCursor"))
            if not cursor:
                return

    def _get(self, path: str, **query: str) -> Json:
        url = self._address(path, query)
        return self._object(self.access.http.send("GET", url, headers=self._headers(url), accepts=_READ))

    def _address(self, path: str, query: Mapping[str, str] | None = None) -> str:
        given = urlencode({name: value for name, value in (query or {}).items() if value})
        return f"{self.url}/api/v1{path}" + (f"?{given}" if given else "")

    def _headers(self, url: str) -> Headers:
        return self.access.credentials.given(url) if origin_of(url) == origin_of(self.url) else ()

    def _object(self, reply: HttpReply) -> Json:
        if reply.status not in _DONE:
            raise self._failed(reply)
        try:
            value = json.loads(reply.body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise UnavailableError(
                f"{self.url} does not answer like a ClawHub registry ({reply.content_type[:60] or 'no content type'})",
                hint="check url and kind of the source", retryable=False,
            )  # fmt: skip
        return value

    def _failed(self, reply: HttpReply) -> MetierError:
        """Returns the error of a status, in the registry's own words if it has any."""
        # A page for browsers says nothing in one line.
        is_text = reply.content_type in ("text/plain", "")
        said = " ".join(reply.body[:4000].decode("utf-8", "replace").split()) if is_text else ""
        shown = "".join(char for char in said if char.isprintable())[:_TEXT_LENGTH].rstrip(".")
        why = f"{self.url}: {shown}" if shown else f"HTTP {reply.status} from {reply.url.partition('?')[0]}"
        if reply.status in (404, 410):
            return NotFoundError(why, hint="check the name, the owner and the version")
        if reply.status in (401, 403, 451):
            hint = "give a token: auth in [skills.sources.NAME], or --header" if reply.status != 451 else "use another skill"
            return RefusedError(why, rule="clawhub", hint=hint)
        if reply.status == 409:
            return ConflictError(why, hint="name its owner as NAME:@OWNER/SKILL, or use another version")
        return HttpUnavailableError(why, hint="check what was sent", status=reply.status, retryable=False)

    def _rows(self, answer: Json, name: str) -> list[Json]:
        rows = answer.get(name)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._invalid(f"no list of {name}")
        return rows

    def _skill(self, row: Json, asked: str) -> ClawHubSkill:
        newest, owner = row.get("latestVersion"), row.get("owner")
        version = newest.get("version") if isinstance(newest, dict) else newest or row.get("version")
        tags, judged = _table(row.get("tags")), _table(row.get("moderation"))
        handle = owner.get("handle") if isinstance(owner, dict) else row.get("ownerHandle")
        stats = _table(row.get("stats")) or row
        blocked, doubted = judged.get("isMalwareBlocked") is True, judged.get("isSuspicious") is True
        reasons = judged.get("reasonCodes")
        # A renamed skill answers under its new name.
        name = _text(row.get("slug") or row.get("name")) or asked
        if not is_name(name):
            raise self._invalid(f"the name {name[:80]!r}")
        return ClawHubSkill(
            name=name, owner=self._owner(handle), summary=_text(row.get("summary") or row.get("description")),
            version=self._version(version), tags={str(tag): _text(at) for tag, at in tags.items()},
            downloads=_number(stats.get("downloads")), updated=_number(row.get("updatedAt")),
            verdict="malicious" if blocked else "suspicious" if doubted else "",
            reasons=tuple(map(str, reasons)) if isinstance(reasons, list) else (),
        )  # fmt: skip

    def _owner(self, handle: object) -> str:
        text = _text(handle).lstrip("@").lower()
        if text and not re.fullmatch(r"[a-z0-9_]+(?:[.-]+[a-z0-9_]+)*-?", text):
            raise self._invalid(f"the owner {text[:80]!r}")
        return text

    def _release(self, row: Json) -> ClawHubRelease:
        listed = row.get("files")
        files: dict[str, str] = {}
        for file in listed if isinstance(listed, list) else ():
            path, hashed = (file.get("path"), file.get("sha256")) if isinstance(file, dict) else (None, None)
            if not isinstance(path, str) or not isinstance(hashed, str) or not _HASH.fullmatch(hashed):
                raise self._invalid("a file without a path or a SHA-256")
            files[path] = hashed
        version = self._version(row.get("version"))
        if not version:
            raise self._invalid("a release without a version")
        return ClawHubRelease(
            version=version, created=_number(row.get("createdAt")), license=_text(row.get("license")), files=files
        )

    def _version(self, value: object) -> str:
        if value is not None and (not isinstance(value, str) or (value and not _VERSION.fullmatch(value))):
            raise self._invalid(f"the version {str(value)[:80]!r}")
        return value or ""

    def _invalid(self, what: str) -> UnavailableError:
        return UnavailableError(f"{self.url} sent {what}", hint="report it to the registry", retryable=False)


def _table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    """Returns a count or a time; 0 for what is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return int(value) if is_number else 0  # type: ignore[call-overload]
