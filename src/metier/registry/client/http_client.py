"""The other end of the wire: a registry as those who publish and search see it.

Answers are plain dictionaries of JSON, because a client must live with the fields of servers older and newer than itself.
The token goes to the registry's own address and nowhere else: no redirect is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from metier.errors import (
    ConfigError,
    ConflictError,
    InvalidSkillError,
    MetierError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from metier.sources import replace_bytes
from metier.spec import Problem, Report, Severity

if TYPE_CHECKING:
    import httpx2

__all__ = ["RegistryClient", "ResponseCache", "registry_url"]

Json = dict[str, Any]  # Any: a stranger's JSON
_LARGEST = 16 * 1024 * 1024
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def registry_url(url: str) -> str:
    """Where the API of a registry is, from the address that configurations name: with or without its `/skills`."""
    return url.rstrip("/").removesuffix("/skills")


@dataclass(frozen=True, slots=True)
class ResponseCache:
    """What a registry said before, by its ETag: a question asked again costs no answer, and some can be asked offline."""

    folder: str

    def known(self, key: str) -> tuple[str, bytes] | None:
        try:
            with open(self._file(key), "rb") as stream:
                tag, _, body = stream.read(_LARGEST).partition(b"\n")
        except OSError:
            return None
        return tag.decode("latin-1"), body

    def keep(self, key: str, tag: str, body: bytes) -> None:
        try:
            replace_bytes(self._file(key), tag.encode("latin-1") + b"\n" + body)
        except OSError:
            # It is only a cache.
            pass

    def _file(self, key: str) -> str:
        return os.path.join(self.folder, hashlib.sha256(key.encode()).hexdigest())


@dataclass(kw_only=True)
class RegistryClient:
    url: str
    """Of the registry, without `/skills`."""
    token: str = ""
    answers: ResponseCache | None = None
    offline: bool = False
    insecure: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigError(f"{self.url!r} is no address of a registry", file="skills.registry", hint="write https://…")
        if parts.scheme == "http" and not self.insecure and parts.netloc.partition(":")[0] not in _LOOPBACK:
            raise RefusedError(f"{self.url} is not encrypted", rule="https-only",
                          hint="use https, or --insecure-http if you accept what anybody on the way may see")  # fmt: skip

    # Asking

    def search(self, query: str, *, limit: int = 20, cursor: str = "", **filters: str) -> Json:
        asked = {"q": query, "limit": str(limit), "cursor": cursor, **filters}
        return self._get("/skills", {name: value for name, value in asked.items() if value})

    def skill(self, name: str) -> Json:
        return self._get(f"/skills/{quote(name, safe='')}")

    def versions(self, name: str) -> Json:
        return self._get(f"/skills/{quote(name, safe='')}/versions")

    def version(self, name: str, version: str) -> Json:
        return self._get(f"/skills/{quote(name, safe='')}/versions/{quote(version, safe='')}")

    def keys(self, namespace: str) -> list[Json]:
        return list(self._get(f"/namespaces/{quote(namespace, safe='')}/keys").get("keys", []))

    def whoami(self) -> Json:
        return self._asked("GET", "/whoami")

    # Changing

    def publish(self, archive: bytes, *, dry_run: bool = False, **wishes: str) -> Json:
        asked = {name: value for name, value in wishes.items() if value} | ({"dry_run": "1"} if dry_run else {})
        return self._asked("POST", "/skills", asked, content=archive, content_type="application/zip")

    def yank(self, name: str, version: str, *, reason: str) -> Json:
        return self._change("POST", f"{_version(name, version)}/yank", {"reason": reason})

    def unyank(self, name: str, version: str) -> Json:
        return self._change("POST", f"{_version(name, version)}/unyank", {})

    def sign(self, name: str, version: str, *, keyid: str, signature: str) -> Json:
        return self._change("PUT", f"{_version(name, version)}/signature", {"keyid": keyid, "signature": signature})

    def register_key(self, namespace: str, public: str, *, note: str = "") -> Json:
        return self._change("POST", f"/namespaces/{quote(namespace, safe='')}/keys", {"public": public, "note": note})

    def _change(self, method: str, path: str, body: Json) -> Json:
        return self._asked(method, path, content=json.dumps(body).encode(), content_type="application/json")

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """With what was said before: a 304 is answered from memory, and offline everything is."""
        # Another token may be told other things.
        key = f"{self.url}{path}?{json.dumps(query, sort_keys=True)} {hashlib.sha256(self.token.encode()).hexdigest()}"
        known = self.answers.known(key) if self.answers else None
        if self.offline:
            if known is None:
                raise UnavailableError("this was never asked before, and you are offline", hint="ask once without --offline")
            return _object(known[1], self.url)
        reply = self._send("GET", path, query, headers={"if-none-match": known[0]} if known else {})
        if reply.status_code == HTTPStatus.NOT_MODIFIED and known:
            return _object(known[1], self.url)
        if self.answers and (tag := reply.headers.get("etag")):
            self.answers.keep(key, tag, reply.content)
        return _object(reply.content, self.url)

    def _asked(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, content: bytes = b"", content_type: str = ""
    ) -> Json:
        if self.offline:
            raise UnavailableError(f"{self.url} cannot be asked offline", hint="try again without --offline")
        headers = {"content-type": content_type} if content_type else {}
        return _object(self._send(method, path, query, headers=headers, content=content).content, self.url)

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, *, headers: Mapping[str, str], content: bytes = b""
    ) -> httpx2.Response:
        import httpx2

        try:
            reply = self._http.request(method, f"{self.url}{path}", params=query, headers=headers, content=content or None)
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise UnavailableError(f"{self.url} cannot be reached: {why}", hint="check the network and the address") from error
        if reply.status_code == HTTPStatus.NOT_MODIFIED or reply.is_success:
            return reply
        raise _problem(reply.status_code, reply.content, self.url, has_token=bool(self.token))

    @cached_property
    def _http(self) -> httpx2.Client:
        import ssl

        import httpx2  # 90 ms that only a command that asks a registry should cost

        file = self.environment.get("SSL_CERT_FILE")
        headers = {"user-agent": "metier", "accept": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        trust: Any = ssl.create_default_context(cafile=file) if file else True  # Any: httpx2 takes both
        return httpx2.Client(headers=headers, follow_redirects=False, timeout=self.timeout, verify=trust)


def _version(name: str, version: str) -> str:
    return f"/skills/{quote(name, safe='')}/versions/{quote(version, safe='')}"


def _object(body: bytes, url: str) -> Json:
    try:
        value = json.loads(body[:_LARGEST])
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnavailableError(f"what answers at {url} is no registry", hint="check the address", retryable=False)
    return value


def _problem(status: int, body: bytes, url: str, *, has_token: bool) -> MetierError:
    """What went wrong, as the server says it (RFC 9457), in our own words where it says nothing."""
    try:
        told = json.loads(body[:_LARGEST])
    except (ValueError, RecursionError):
        told = {}
    told = told if isinstance(told, dict) else {}
    detail = str(told.get("detail") or f"{url} answered {status}")[:2000]
    hint = str(told.get("hint") or "")[:500]
    if status == HTTPStatus.UNAUTHORIZED:
        where = "the token of this registry is not accepted" if has_token else detail
        return RefusedError(where, rule="unauthenticated", hint=f"metier login {url}")
    if status == HTTPStatus.FORBIDDEN:
        return RefusedError(detail, rule=str(told.get("code") or "forbidden"), hint=hint or "ask whoever runs the registry")
    if status == HTTPStatus.NOT_FOUND:
        return NotFoundError(detail, hint=hint or "check the name")
    if status == HTTPStatus.CONFLICT:
        return ConflictError(detail, hint=hint or "publish it under a new version")
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return InvalidSkillError(detail, report=Report.of(_problems(told.get("findings"))), hint=hint)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return RefusedError(detail, rule="too-large", hint=hint or "leave out what the skill does not need")
    later = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return UnavailableError(detail, hint=hint or ("try again later" if later else "check the address"), retryable=later)


def _problems(findings: object) -> Iterator[Problem]:
    for one in findings if isinstance(findings, list) else ():
        if isinstance(one, dict):
            severity = str(one.get("severity"))
            line = one.get("line")
            yield Problem(
                code=str(one.get("rule", "unknown")),
                severity=Severity(severity) if severity in tuple(Severity) else Severity.ERROR,
                message=str(one.get("message", "")),
                file=str(one.get("file", "")),
                line=line if isinstance(line, int) else None,
                hint=str(one.get("hint", "")),
            )
