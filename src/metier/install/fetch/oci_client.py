"""A client of the OCI distribution API, over the one HTTP client: manifests, blobs, uploads, and tokens.

A registry that answers 401 names a realm that gives tokens. Credentials of the user (`--header`, `[skills.sources.NAME]`) stay
at the registry's own origin, as everywhere. A stored login of docker or podman is for the registry and its realm, which is how
every container registry works; it is sent there over https, or over http where the registry itself is asked so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.install.refs.forges import read_address
from metier.install.refs.ref_types import OciRef
from metier.registry.client import oci_digest
from metier.values import dataclass, field

from .credentials import Headers, origin_of
from .docker_logins import docker_login
from .http import HttpNotFoundError, HttpRefusedError
from .job import Access
from .network import is_loopback

__all__ = ["MANIFEST_TYPES", "Descriptor", "OciClient", "api_url"]

T = TypeVar("T")
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
)  # fmt: skip
_LARGEST_MANIFEST = 4 * 1024 * 1024
_LARGEST_TOKEN = 64 * 1024
_PARAMETER = re.compile(r'(\w+)="([^"\\]*)"')
_DONE = frozenset({200, 201, 202, 204})


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A blob or manifest as a manifest names it."""

    type: str
    digest: str
    size: int
    artifact_type: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


def api_url(home: str, *, insecure: bool) -> str:
    """Returns the address of a repository `oci://HOST/NAME`: https, except on this machine and with --insecure-http."""
    host, _, repository = home.removeprefix("oci://").partition("/")
    name = read_address(f"https://{host}").host
    scheme = "http" if insecure or is_loopback(name) else "https"
    return f"{scheme}://{'registry-1.docker.io' if host == 'docker.io' else host}/v2/{repository}"


@dataclass(kw_only=True)
class OciClient:
    """The API of one repository."""

    ref: OciRef
    access: Access
    received: Callable[[int, int | None], None] = lambda _done, _of: None
    _authorization: str = field(default="", repr=False)

    @property
    def base(self) -> str:
        return api_url(self.ref.home, insecure=self.access.insecure)

    def manifest(self, reference: str) -> tuple[bytes, str]:
        """Returns a manifest or index and its media type. One that is asked for by digest is checked against it."""
        url, accept = f"{self.base}/manifests/{reference}", ("Accept", ", ".join(MANIFEST_TYPES))
        reply = self._authorized(
            url, lambda headers: self.access.http.get(url, limit=_LARGEST_MANIFEST, headers=(*headers, accept))
        )
        if reference.startswith("sha256:"):
            self._check(reply.body, reference)
        return reply.body, reply.content_type

    def referrers(self, digest: str) -> bytes:
        """Returns the index of what names a manifest as its subject. Raises HttpNotFoundError without this API."""
        url, accept = f"{self.base}/referrers/{digest}", ("Accept", MANIFEST_TYPES[1])
        reply = self._authorized(
            url, lambda headers: self.access.http.get(url, limit=_LARGEST_MANIFEST, headers=(*headers, accept))
        )
        return reply.body

    def blob(self, wanted: Descriptor) -> bytes:
        url = f"{self.base}/blobs/{wanted.digest}"
        reply = self._authorized(
            url, lambda headers: self.access.http.get(url, limit=wanted.size, headers=headers, received=self.received)
        )
        self._check(reply.body, wanted.digest)
        return reply.body

    def push_blob(self, data: bytes) -> bool:
        """Uploads a blob in one piece. Returns False if the registry has it."""
        http, digest = self.access.http, oci_digest(data)
        url, uploads = f"{self.base}/blobs/{digest}", f"{self.base}/blobs/uploads/"
        try:
            self._authorized(url, lambda headers: http.send("HEAD", url, headers=headers, accepts=frozenset({200})))
        except HttpNotFoundError:
            start = self._authorized(uploads, lambda headers: http.send("POST", uploads, headers=headers, accepts=_DONE))
        else:
            return False
        if not start.location:
            raise UnavailableError(
                f"{self.ref.host} did not say where to upload to", hint="report it to the registry", retryable=False
            )
        target = f"{start.location}{'&' if '?' in start.location else '?'}{urlencode({'digest': digest})}"
        kind = ("Content-Type", "application/octet-stream")
        self._authorized(
            uploads,
            lambda headers: http.send("PUT", target, headers=(*headers, kind), body=data, accepts=_DONE, via=uploads),
        )
        return True

    def push_manifest(self, data: bytes, media_type: str, reference: str) -> None:
        url, kind = f"{self.base}/manifests/{reference}", ("Content-Type", media_type)
        self._authorized(
            url, lambda headers: self.access.http.send("PUT", url, headers=(*headers, kind), body=data, accepts=_DONE)
        )

    def _check(self, data: bytes, expected: str) -> None:
        if (actual := oci_digest(data)) != expected:
            raise RefusedError(
                f"{self.ref.host} sent bytes with the digest {actual} for {expected}", rule="digest-mismatch",
                hint="the artefact or the registry was changed; report it to the registry",
            )  # fmt: skip

    def _authorized(self, url: str, send: Callable[[Headers], T]) -> T:
        """Sends a request with what is known, and once more with a token or login if the registry asks for it."""
        given = self.access.credentials.given(url)
        others = tuple(header for header in given if header[0].lower() != "authorization")
        try:
            return send((*others, ("Authorization", self._authorization)) if self._authorization else given)
        except HttpRefusedError as refused:
            self._authorization = self._answer(refused, given)
            # A login of docker is no second guess after credentials that the user gave.
            if not self._authorization or (others != given and self._authorization.startswith("Basic")):
                raise self._denied(refused) from refused
        try:
            return send((*others, ("Authorization", self._authorization)))
        except HttpRefusedError as refused:
            raise self._denied(refused) from refused

    def _answer(self, refused: HttpRefusedError, given: Headers) -> str:
        """Returns the Authorization that the challenge of a 401 asks for; empty if there is none to give."""
        scheme, _, rest = refused.challenge.partition(" ")
        login = docker_login(self.ref.host, self.ref.repository, self.access.environment)
        if scheme.lower() == "basic":
            return login
        if scheme.lower() != "bearer":
            return ""
        parameters = dict(_PARAMETER.findall(rest))
        realm = parameters.get("realm", "")
        self._check_realm(realm)
        query = urlencode({key: value for key in ("service", "scope") if (value := parameters.get(key))})
        url = f"{realm}{'&' if '?' in realm else '?'}{query}" if query else realm
        own = tuple(header for header in given if origin_of(realm) == origin_of(self.base))
        headers = own or ((("Authorization", login),) if login else ())
        reply = self.access.http.get_linked(url, via=self.base, headers=headers, limit=_LARGEST_TOKEN)
        token = _token(reply.body)
        if not token:
            raise UnavailableError(f"{origin_of(realm)} gave no token", hint="report it to the registry", retryable=False)
        return f"Bearer {token}"

    def _check_realm(self, realm: str) -> None:
        """Refuses a realm that is not encrypted where the registry is."""
        try:
            scheme = read_address(realm).scheme
        except MetierError:
            scheme = ""
        if scheme != "https" and (scheme != "http" or self.base.startswith("https:")):
            raise RefusedError(
                f"{self.ref.host} wants credentials to go to {realm.partition('?')[0]!r}, which is not an https address",
                rule="https-only", hint="report it to the registry",
            )  # fmt: skip

    def _denied(self, refused: HttpRefusedError) -> HttpRefusedError:
        return HttpRefusedError(
            f"{self.ref.host} denies access to {self.ref.repository} (HTTP {refused.status})", status=refused.status,
            hint=f"run `docker login {self.ref.host}` or `podman login {self.ref.host}`, or give --header",
            challenge=refused.challenge,
        )  # fmt: skip


def _token(body: bytes) -> str:
    try:
        answer: Any = json.loads(body)  # Any: untrusted JSON
    except (ValueError, RecursionError):
        return ""
    found = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else ""
    return found if isinstance(found, str) and re.fullmatch(r"[\x21-\x7e]+", found) else ""
