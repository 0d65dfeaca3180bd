"""The identity provider of single sign-on: discovery, authorization code with PKCE, and logout.

The metadata is kept for an hour. A token that names an unknown key makes the keys be read again, at most once a minute, so a
provider may change its keys at any time and forged tokens cost it nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from metier.errors import MetierError, UnavailableError, connection_problem
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.users import Identity
from metier.values import dataclass

from .signed_tokens import Claims, SignedTokenError, UnknownKeyError, key_set, verify_token

if TYPE_CHECKING:
    import httpx2
    from joserfc.jwk import KeySet

__all__ = ["OidcProvider", "SignInRequest"]

_log = logging.getLogger("metier.registry")
_LARGEST = 1024 * 1024
_SECONDS = 10.0
_METADATA_MS = 3_600_000
_KEYS_MS = 60_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SCOPE = "openid profile email"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest:
    """The secrets of one sign-in, which the browser keeps until it comes back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> SignInRequest:
        return cls(state=secrets.token_urlsafe(32), nonce=secrets.token_urlsafe(32), verifier=secrets.token_urlsafe(48))

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class OidcProvider:
    def __init__(
        self, *, issuer: str, client_id: str, client_secret: str, groups_claim: str, clock: Callable[[], int],
        setting: str = "registry.oidc.issuer",
    ) -> None:  # fmt: skip
        self.issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._groups_claim = groups_claim
        self._clock = clock
        self._setting = setting
        self._metadata: Claims = {}
        self._metadata_read = 0
        self._keys: KeySet | None = None
        self._keys_read = 0
        self._http: httpx2.AsyncClient | None = None

    async def check(self) -> None:
        """Logs a provider that does not answer, so that it is seen before the first person signs in."""
        try:
            await self._discover()
        except UnavailableError as error:
            _log.error("single sign-on does not work: %s; %s", error, error.hint)

    async def authorization_url(self, wanted: SignInRequest, *, redirect_uri: str) -> str:
        """Returns the address of the provider's own sign-in page."""
        metadata = await self._discover()
        scope = _SCOPE if self._groups_claim not in metadata.get("scopes_supported", ()) else f"{_SCOPE} {self._groups_claim}"
        parameters = {
            "response_type": "code", "client_id": self._client_id, "redirect_uri": redirect_uri, "scope": scope,
            "state": wanted.state, "nonce": wanted.nonce, "code_challenge": wanted.challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return _with_query(self._endpoint(metadata, "authorization_endpoint"), parameters)

    async def redeem(self, response: Mapping[str, str], wanted: SignInRequest, *, redirect_uri: str) -> Identity:
        """Returns the person whom the provider sent back. Raises UnauthenticatedError for anything that is not its answer."""
        metadata = await self._discover()
        if not secrets.compare_digest(response.get("state", "").encode(), wanted.state.encode()):
            raise UnauthenticatedError("this sign-in did not start in this browser", hint="sign in again")
        # RFC 9207: the answer of another provider is not exchanged at this one.
        issuer = response.get("iss")
        if issuer != self.issuer and (issuer or metadata.get("authorization_response_iss_parameter_supported") is True):
            raise UnauthenticatedError("the answer came from another identity provider", hint="sign in again")
        if "error" in response or not response.get("code"):
            reason = (response.get("error_description") or response.get("error") or "no code")[:200]
            raise UnauthenticatedError(f"the identity provider refused the sign-in: {reason}", hint="sign in again")
        answer = await self._exchange(metadata, response["code"], wanted.verifier, redirect_uri)
        claims = await self.verify(str(answer.get("id_token") or ""))
        if not secrets.compare_digest(str(claims.get("nonce", "")).encode(), wanted.nonce.encode()):
            raise SignedTokenError("it was made for another sign-in")
        return self._identity(await self._with_userinfo(metadata, claims, str(answer.get("access_token") or "")))

    async def logout_url(self, *, return_to: str) -> str:
        """Returns the address at which the browser ends its session with the provider; empty if there is none."""
        metadata = await self._discover()
        if not metadata.get("end_session_endpoint"):
            return ""
        parameters = {"client_id": self._client_id, "post_logout_redirect_uri": return_to}
        return _with_query(self._endpoint(metadata, "end_session_endpoint"), parameters)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def _exchange(self, metadata: Claims, code: str, verifier: str, redirect_uri: str) -> Claims:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri, "code_verifier": verifier}
        headers = {}
        methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if self._client_secret and "client_secret_basic" in methods:
            # RFC 6749 2.3.1: both parts are form-encoded before they are joined.
            pair = f"{quote(self._client_id, safe='')}:{quote(self._client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": self._client_id}
            if self._client_secret:
                form |= {"client_secret": self._client_secret}
        status, answer = await self._ask("POST", self._endpoint(metadata, "token_endpoint"), headers=headers, form=form)
        if status != 200:
            # The description may repeat what was sent, so only the code is shown.
            raise self._refused(str(answer.get("error", status))[:80])
        return answer

    def _refused(self, reason: str) -> MetierError:
        if reason in ("invalid_client", "unauthorized_client"):
            _log.error("the identity provider %s does not accept the client %r (%s)", self.issuer, self._client_id, reason)
            return UnavailableError(
                f"the identity provider does not accept this registry ({reason})", retryable=False,
                hint="ask an administrator to check registry.oidc.client_id and registry.oidc.client_secret",
            )  # fmt: skip
        if reason == "invalid_grant":
            return UnauthenticatedError("this sign-in took too long, or its answer came twice", hint="sign in again")
        return UnauthenticatedError(f"the identity provider refused the sign-in: {reason}", hint="sign in again")

    async def verify(self, text: str) -> Claims:
        """Returns the claims of a token for this client. Raises SignedTokenError."""
        for _ in range(2):
            keys = self._keys or await self._read_keys()
            try:
                return verify_token(
                    text, keys, issuer=self.issuer, audience=self._client_id, now=self._clock() // 1000
                )  # fmt: skip
            except UnknownKeyError:
                if self._clock() - self._keys_read < _KEYS_MS:
                    raise
                self._keys = None
        raise UnknownKeyError("it names a key that the provider does not have")

    async def _with_userinfo(self, metadata: Claims, claims: Claims, access_token: str) -> Claims:
        """Adds the claims of the userinfo endpoint, where many providers put groups and email."""
        wanted = (self._groups_claim, "email", "preferred_username")
        if all(name in claims for name in wanted) or not metadata.get("userinfo_endpoint") or not access_token:
            return claims
        headers = {"authorization": f"Bearer {access_token}"}
        status, more = await self._ask("GET", self._endpoint(metadata, "userinfo_endpoint"), headers=headers)
        if status != 200 or more.get("sub") != claims["sub"]:
            raise SignedTokenError("the provider describes another person")
        return {**more, **claims}

    def _identity(self, claims: Claims) -> Identity:
        groups = claims.get(self._groups_claim)
        groups = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        return Identity(
            issuer=self.issuer,
            subject=str(claims["sub"])[:255],
            name=str(claims.get("preferred_username") or claims.get("nickname") or claims.get("name") or "")[:200],
            email=str(claims.get("email") or "")[:254],
            email_verified=claims.get("email_verified") is True,
            groups=tuple(str(group) for group in groups),
        )

    async def _discover(self) -> Claims:
        now = self._clock()
        if not self._metadata or now - self._metadata_read > _METADATA_MS:
            address = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            self._check_address(address)
            status, found = await self._ask("GET", address)
            if status != 200 or found.get("issuer") != self.issuer:
                raise UnavailableError(
                    f"{self.issuer} is not an OpenID provider of that name", hint=f"check the setting {self._setting}",
                    retryable=False,
                )  # fmt: skip
            self._metadata, self._metadata_read = found, now
        return self._metadata

    async def _read_keys(self) -> KeySet:
        status, document = await self._ask("GET", self._endpoint(await self._discover(), "jwks_uri"))
        if status != 200:
            raise UnavailableError(f"the keys of {self.issuer} cannot be read: status {status}", hint="try again later")
        self._keys, self._keys_read = key_set(document), self._clock()
        return self._keys

    def _endpoint(self, metadata: Claims, name: str) -> str:
        address = str(metadata.get(name) or "")
        self._check_address(address)
        return address

    async def _ask(
        self, method: str, address: str, *, headers: Mapping[str, str] | None = None, form: Mapping[str, str] | None = None
    ) -> tuple[int, Claims]:
        import httpx2

        if self._http is None:
            self._http = httpx2.AsyncClient(
                timeout=_SECONDS, follow_redirects=False, trust_env=urlsplit(self.issuer).hostname not in _LOOPBACK,
                headers={"user-agent": "metier", "accept": "application/json"},
            )  # fmt: skip
        try:
            async with self._http.stream(method, address, headers=dict(headers or {}), data=form) as reply:
                body = b""
                async for piece in reply.aiter_bytes():
                    body += piece
                    if len(body) > _LARGEST:
                        raise UnavailableError(f"{self.issuer} sends too much", hint=f"check the setting {self._setting}")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            why = connection_problem(error)
            raise UnavailableError(f"cannot reach the identity provider: {why}", hint="try again later") from None
        try:
            value: Any = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        return reply.status_code, value if isinstance(value, dict) else {}

    def _check_address(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise UnavailableError(
                f"{address[:200]!r} is not an https address", hint=f"check the setting {self._setting}", retryable=False
            )


def _with_query(address: str, parameters: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"
