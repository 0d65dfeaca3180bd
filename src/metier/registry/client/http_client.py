"""The HTTP client of a registry.

Responses are plain JSON dictionaries, because the server may be older or newer than the client. The token is sent to the
registry's own address only: no redirect is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from metier.errors import (
    ConfigError,
    ConflictError,
    InvalidSkillError,
    MetierError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    connection_problem,
)
from metier.sources import open_regular, replace_bytes
from metier.spec import Problem, Report, Severity
from metier.values import dataclass, field

if TYPE_CHECKING:
    import httpx2

__all__ = ["Json", "RegistryClient", "ResponseCache", "registry_url"]

Json = dict[str, Any]  # Any: JSON of another server
_LARGEST = 16 * 1024 * 1024
_LARGEST_ARCHIVE = 64 * 1024 * 1024
_FORM = "application/x-www-form-urlencoded"
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def registry_url(url: str) -> str:
    """Returns the base address of a registry. Settings may name it with or without `/skills`."""
    return url.rstrip("/").removesuffix("/skills")


@dataclass(frozen=True, slots=True)
class ResponseCache:
    """Responses of registries with their ETags: repeated requests send no body, and cached ones work offline."""

    folder: str

    def find(self, key: str) -> tuple[str, bytes] | None:
        try:
            with os.fdopen(open_regular(self._file(key)), "rb") as stream:
                tag, _, body = stream.read(_LARGEST).partition(b"\n")
        except OSError:
            return None
        return tag.decode("latin-1"), body

    def store(self, key: str, tag: str, body: bytes) -> None:
        try:
            replace_bytes(self._file(key), tag.encode("latin-1") + b"\n" + body)
        except OSError:
            # A cache that cannot be written only costs time.
            pass

    def _file(self, key: str) -> str:
        return os.path.join(self.folder, hashlib.sha256(key.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class _Reply:
    status_code: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(kw_only=True)
class RegistryClient:
    url: str
    """Base address of the registry, without `/skills`."""
    token: str = ""
    cache: ResponseCache | None = None
    offline: bool = False
    insecure: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0
    """Seconds for the answer to an upload, which is scanned first."""
    silence: float = 10.0
    """Seconds to connect, and for the first byte of any other answer."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigError(
                f"{self.url!r} is not the address of a registry", file="skills.registry", hint="use an https:// address"
            )
        if parts.scheme == "http" and not self.insecure and parts.hostname not in _LOOPBACK:
            raise RefusedError(
                f"{self.url} is not encrypted", rule="https-only",
                hint="use https, or --insecure-http if everyone on the network may read the traffic",
            )  # fmt: skip

    # Reads

    def search(self, query: str, *, limit: int = 20, cursor: str = "", **filters: str) -> Json:
        parameters = {"q": query, "limit": str(limit), "cursor": cursor, **filters}
        return self._get("/skills", {name: value for name, value in parameters.items() if value})

    def skill(self, name: str) -> Json:
        return self._get(f"/skills/{quote(name, safe='')}")

    def versions(self, name: str) -> Json:
        return self._get(f"/skills/{quote(name, safe='')}/versions")

    def version(self, name: str, version: str) -> Json:
        return self._get(f"/skills/{quote(name, safe='')}/versions/{quote(version, safe='')}")

    def keys(self, namespace: str) -> list[Json]:
        return list(self._get(f"/namespaces/{quote(namespace, safe='')}/keys").get("keys", []))

    def whoami(self) -> Json:
        return self._request("GET", "/whoami")

    # Changes

    def publish(self, archive: bytes, *, dry_run: bool = False, **options: str) -> Json:
        parameters = {name: value for name, value in options.items() if value} | ({"dry_run": "1"} if dry_run else {})
        return self._request("POST", "/skills", parameters, content=archive, content_type="application/zip")

    def yank(self, name: str, version: str, *, reason: str) -> Json:
        return self._change("POST", f"{_version(name, version)}/yank", {"reason": reason})

    def unyank(self, name: str, version: str) -> Json:
        return self._change("POST", f"{_version(name, version)}/unyank", {})

    def sign(self, name: str, version: str, *, keyid: str, signature: str) -> Json:
        return self._change("PUT", f"{_version(name, version)}/signature", {"keyid": keyid, "signature": signature})

    def register_key(self, namespace: str, public: str, *, note: str = "") -> Json:
        return self._change("POST", f"/namespaces/{quote(namespace, safe='')}/keys", {"public": public, "note": note})

    def advisories(self, *, patience: float, limit: int) -> bytes:
        """Returns the signed list of advisories. It is for everyone, so the token stays here."""
        if self.offline:
            raise UnavailableError(f"cannot contact {self.url} while offline", hint="run it without --offline")
        anonymous = RegistryClient(
            url=self.url, insecure=self.insecure, environment=self.environment, silence=min(patience, self.silence)
        )
        return anonymous._send("GET", "/advisories", None, headers={}, limit=limit).content

    def add_advisory(self, **advisory: object) -> Json:
        return self._change("POST", "/advisories", dict(advisory))

    def withdraw_advisory(self, advisory: str) -> Json:
        return self._request("DELETE", f"/advisories/{quote(advisory, safe='')}")

    def trusted_publishers(self, namespace: str) -> list[Json]:
        return list(self._request("GET", _publishers(namespace)).get("publishers", []))

    def add_trusted_publisher(self, namespace: str, **rule: str) -> Json:
        return self._change("POST", _publishers(namespace), dict(rule))

    def remove_trusted_publisher(self, namespace: str, number: int) -> Json:
        return self._request("DELETE", f"{_publishers(namespace)}/{number}")

    def reviews(self, *, before: str = "") -> Json:
        """Returns one page of `reviews`: the drafts and reviews of the caller's namespaces."""
        return self._request("GET", "/reviews", {"before": before} if before else None)

    def review(self, name: str, version: str) -> Json:
        return self._request("GET", f"{_version(name, version)}/review")

    def review_archive(self, name: str, version: str) -> bytes:
        return self._archive(f"{_version(name, version)}/review/archive")

    def archive(self, name: str, version: str) -> bytes:
        return self._archive(f"/skills/{quote(name, safe='')}/download", {"version": version})

    def submit(self, name: str, version: str) -> Json:
        return self._change("POST", f"{_version(name, version)}/review/submit", {})

    def approve(self, name: str, version: str, *, digest: str, comment: str = "") -> Json:
        return self._change("POST", f"{_version(name, version)}/review/approve", {"digest": digest, "comment": comment})

    def return_to_draft(self, name: str, version: str, *, digest: str, comment: str) -> Json:
        return self._change("POST", f"{_version(name, version)}/review/return", {"digest": digest, "comment": comment})

    def withdraw(self, name: str, version: str) -> Json:
        return self._request("DELETE", f"{_version(name, version)}/review")

    def set_namespace(self, namespace: str, *, review: bool) -> Json:
        return self._change("PUT", f"/namespaces/{quote(namespace, safe='')}/settings", {"review": review})

    def exchange_job_token(self, text: str, *, namespace: str = "", package: str = "") -> Json:
        """Returns `token`, which publishes for 15 minutes, for the ID token of a CI job."""
        return self._change("POST", "/oidc/exchange", {"token": text, "namespace": namespace, "package": package})

    def start_device_login(self) -> Json:
        """Returns the codes of RFC 8628. Raises NotFoundError if the registry has no single sign-on."""
        return self._request("POST", "/device/code", content=b"client_id=metier", content_type=_FORM)

    def poll_device_login(self, device_code: str) -> Json:
        """Returns `access_token`, or `error` with a code of RFC 8628."""
        form = urlencode({"client_id": "metier", "grant_type": _DEVICE_GRANT, "device_code": device_code})
        return self._request("POST", "/device/token", content=form.encode(), content_type=_FORM)

    def _change(self, method: str, path: str, body: Json) -> Json:
        return self._request(method, path, content=json.dumps(body).encode(), content_type="application/json")

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """Returns the response, from the cache on a 304 and whenever offline."""
        # The token is part of the key: private packages differ by token.
        key = f"{self.url}{path}?{json.dumps(query, sort_keys=True)} {hashlib.sha256(self.token.encode()).hexdigest()}"
        cached = self.cache.find(key) if self.cache else None
        if self.offline:
            if cached is None:
                raise UnavailableError("this response is not cached", hint="run it once without --offline")
            return _object(cached[1], self.url)
        reply = self._send("GET", path, query, headers={"if-none-match": cached[0]} if cached else {})
        if reply.status_code == HTTPStatus.NOT_MODIFIED and cached:
            return _object(cached[1], self.url)
        if self.cache and (tag := reply.headers.get("etag")):
            self.cache.store(key, tag, reply.content)
        return _object(reply.content, self.url)

    def _request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, content: bytes = b"", content_type: str = ""
    ) -> Json:
        if self.offline:
            raise UnavailableError(f"cannot contact {self.url} while offline", hint="run it without --offline")
        headers = {"content-type": content_type} if content_type else {}
        return _object(self._send(method, path, query, headers=headers, content=content).content, self.url)

    def _archive(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        return self._send("GET", path, query, headers={}, limit=_LARGEST_ARCHIVE).content

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, *, headers: Mapping[str, str], content: bytes = b"",
        limit: int = _LARGEST,
    ) -> _Reply:  # fmt: skip
        import httpx2

        wait = httpx2.Timeout(self.timeout if content else self.silence, connect=self.silence)
        try:
            with self._http.stream(
                method, f"{self.url}{path}", params=query, headers=headers, content=content or None, timeout=wait
            ) as response:
                reply = _Reply(response.status_code, response.headers, self._read(response, limit))
        except httpx2.TimeoutException as error:
            raise UnavailableError(
                f"{self.url} does not answer: nothing came for {wait.read:g} seconds", hint="check the network and the address"
            ) from error
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            why = connection_problem(error)
            raise UnavailableError(f"cannot reach {self.url}: {why}", hint="check the network and the address") from error
        # OAuth answers "not yet" with status 400, which is no failure.
        is_waiting = reply.status_code == HTTPStatus.BAD_REQUEST and path == "/device/token"
        if reply.status_code == HTTPStatus.NOT_MODIFIED or response.is_success or is_waiting:
            return reply
        raise _problem(reply.status_code, reply.content, self.url, has_token=bool(self.token))

    def _read(self, response: httpx2.Response, limit: int) -> bytes:
        body = bytearray()
        for piece in response.iter_bytes():
            body += piece
            if len(body) > limit:
                raise UnavailableError(
                    f"{self.url} answers with more than {limit:,} bytes", hint="check the address", retryable=False
                )
        return bytes(body)

    @cached_property
    def _http(self) -> httpx2.Client:
        import ssl

        import httpx2  # takes 90 ms, which only commands that contact a registry should pay

        file = self.environment.get("SSL_CERT_FILE")
        headers = {"user-agent": "metier", "accept": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        trust: Any = ssl.create_default_context(cafile=file) if file else True  # Any: httpx2 accepts both types
        # A proxy would read the token on its way to a server on this machine.
        uses_proxies = urlsplit(self.url).hostname not in _LOOPBACK
        return httpx2.Client(headers=headers, follow_redirects=False, verify=trust, trust_env=uses_proxies)


def _publishers(namespace: str) -> str:
    return f"/namespaces/{quote(namespace, safe='')}/trusted-publishers"


def _version(name: str, version: str) -> str:
    return f"/skills/{quote(name, safe='')}/versions/{quote(version, safe='')}"


def _object(body: bytes, url: str) -> Json:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnavailableError(f"{url} is not a metier registry", hint="check the address", retryable=False)
    return value


def _problem(status: int, body: bytes, url: str, *, has_token: bool) -> MetierError:
    """Returns the error of a response: the server's own problem details (RFC 9457), or a generic message."""
    try:
        details = json.loads(body)
    except (ValueError, RecursionError):
        details = {}
    details = details if isinstance(details, dict) else {}
    message = str(details.get("detail") or f"{url} responded with status {status}")[:2000]
    hint = str(details.get("hint") or "")[:500]
    if status == HTTPStatus.UNAUTHORIZED:
        why = f"{url} does not accept the token" if has_token else message
        return RefusedError(why, rule="unauthenticated", hint=f"metier login {url}")
    if status == HTTPStatus.FORBIDDEN:
        return RefusedError(
            message, rule=str(details.get("code") or "forbidden"), hint=hint or "ask the registry's administrator"
        )
    if status == HTTPStatus.NOT_FOUND:
        return NotFoundError(message, hint=hint or "check the name")
    if status == HTTPStatus.CONFLICT:
        return ConflictError(message, hint=hint or "publish it under a new version")
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return InvalidSkillError(message, report=Report.of(_problems(details.get("findings"))), hint=hint)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return RefusedError(message, rule="too-large", hint=hint or "remove files that the skill does not need")
    later = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return UnavailableError(message, hint=hint or ("try again later" if later else "check the address"), retryable=later)


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
