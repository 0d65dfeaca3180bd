"""The credentials of a request: a token in a header or below /t/, or the session cookie of the pages.

With https the cookie has the `__Host-` prefix, so that neither a sibling host nor another path can set it. Other cookies of the
same name do not hide ours: each is tried.
"""

from __future__ import annotations

import re

from starlette.types import Scope

from metier.errors import RefusedError
from metier.registry.domain.access import Caller, UnauthenticatedError

from .request_checks import is_same_origin
from .routing import RegistryRequest

__all__ = [
    "authenticate",
    "bearer_token",
    "check_origin",
    "cookie_name",
    "cookie_values",
    "redacted_path",
    "session_texts",
]

_COOKIE = "metier_session"
_LONGEST_COOKIES = 16_384
_IN_PATH = re.compile(r"^/(t|invite)/[^/]*|mtr_[A-Za-z0-9]+")


async def authenticate(request: RegistryRequest, token: str, *, address: str) -> Caller:
    """Returns the caller. Raises UnauthenticatedError for a bad token; a cookie that is not a session is ignored."""
    registry = request.registry
    now = registry.clock()
    if not token:
        texts = session_texts(request.scope, request.base)
        caller = await registry.sessions.authenticate(texts, address=address, now=now) if texts else None
        if caller is not None:
            if request.method not in ("GET", "HEAD", "OPTIONS"):
                check_origin(request)
            return caller
    try:
        return await registry.tokens.authenticate(token, address=address, now=now)
    except UnauthenticatedError as error:
        await registry.failed_logins.record(token, address=address, error=error)
        raise


def bearer_token(headers: dict[bytes, bytes], params: dict[str, str]) -> str:
    """Returns the token of a request, or an empty text."""
    if b"authorization" in headers:
        scheme, _, text = headers[b"authorization"].decode("latin-1").strip().partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise UnauthenticatedError("the Authorization header contains no token", hint="send `Authorization: Bearer mtr_…`")
        return text.strip()
    return params.get("token", "")


def cookie_name(base: str, name: str = _COOKIE) -> str:
    return f"__Host-{name}" if base.startswith("https:") else name


def session_texts(scope: Scope, base: str) -> list[str]:
    """Returns the values of all cookies with the name of sessions."""
    return cookie_values(scope, cookie_name(base))


def cookie_values(scope: Scope, name: str) -> list[str]:
    """Returns the values of all cookies with a name."""
    header = b"; ".join(value for key, value in scope["headers"] if key == b"cookie")[:_LONGEST_COOKIES].decode("latin-1")
    parts = (part.strip().partition("=") for part in header.split(";"))
    return [value.strip().strip('"') for key, _, value in parts if key == name]


def check_origin(request: RegistryRequest) -> None:
    """Refuses a change that was not sent from a page of this registry."""
    if not is_same_origin(request.headers.get("origin", ""), request.base):
        raise RefusedError(
            "the form was not sent from a page of this registry", rule="origin", hint="use the pages of the registry"
        )


def redacted_path(path: str) -> str:
    """Returns the path for logs, without the token that it may contain."""
    return _IN_PATH.sub(lambda found: f"/{found[1]}/***" if found[1] else "mtr_***", path)[:500]
