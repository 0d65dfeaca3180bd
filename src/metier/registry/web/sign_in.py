"""Single sign-on in the pages: the way to the identity provider and back.

A cookie keeps the state, nonce and PKCE verifier of one sign-in for ten minutes, so an answer counts only in the browser that
asked. It is deleted with the first answer. The start is a link and not a form, because the content security policy keeps forms
on this host.
"""

from __future__ import annotations

import base64

import msgspec
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp

from metier.errors import MetierError, NotFoundError, UnavailableError
from metier.registry.domain.access import Caller, UnauthenticatedError
from metier.registry.oidc import OidcProvider, SignInRequest
from metier.registry.server.authentication import cookie_name, cookie_values, session_texts
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.values import dataclass

from .templates import local_path, render_page, with_status

__all__ = ["finish_sign_in", "logout_page", "start_session", "start_sign_in"]

_COOKIE = "metier_sign_in"
_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The contents of the cookie."""

    wanted: SignInRequest
    target: str


async def start_sign_in(request: RegistryRequest) -> ASGIApp:
    provider, wanted = _provider(request), SignInRequest.new()
    target = local_path(request.query_params.get("next", ""))
    try:
        address = await provider.authorization_url(wanted, redirect_uri=_redirect_uri(request))
    except UnavailableError as error:
        # The page still takes a token.
        return _login_page(request, error, target)
    response = RedirectResponse(address, status_code=303)
    kept = _Kept(wanted=wanted, target=target)
    _set_cookie(request, response, _COOKIE, base64.urlsafe_b64encode(msgspec.json.encode(kept)).decode(), _SECONDS)
    return response


async def finish_sign_in(request: RegistryRequest) -> ASGIApp:
    registry, provider = request.registry, _provider(request)
    now, address = registry.clock(), request.caller.address
    target = ""
    try:
        kept = _kept(request)
        target = kept.target
        response = {name: value for name, value in request.query_params.items() if value}
        identity = await provider.redeem(response, kept.wanted, redirect_uri=_redirect_uri(request))
        caller = await registry.users.sign_in(identity, address=address, now=now)
    except MetierError as error:
        if isinstance(error, UnauthenticatedError):
            await registry.failed_logins.record("", address=address, error=error)
        page = _login_page(request, error, target)
        expired = RedirectResponse("/")
        _delete_cookie(request, expired, _COOKIE)
        page.headers = (*page.headers, *((name, value) for name, value in expired.raw_headers if name == b"set-cookie"))
        return page
    done = await start_session(request, caller, target)
    _delete_cookie(request, done, _COOKIE)
    return done


async def start_session(request: RegistryRequest, caller: Caller, target: str) -> RedirectResponse:
    """Ends the sessions of this browser and starts one for the caller."""
    registry = request.registry
    now = registry.clock()
    await registry.sessions.end(request.caller, session_texts(request.scope, request.base), now=now)
    session, seconds = await registry.sessions.start(caller, now=now)
    response = RedirectResponse(target or "/account", status_code=303)
    _set_cookie(request, response, "metier_session", session, seconds)
    return response


async def logout_page(request: RegistryRequest) -> ASGIApp | None:
    """Returns a page that leads to the provider's logout, if the session began with a sign-in there."""
    provider, token = request.registry.provider, request.caller.token
    if provider is None or token is None or not token.is_sign_in:
        return None
    try:
        address = await provider.logout_url(return_to=f"{request.base}/")
    except MetierError:
        # The session of this registry is over in any case.
        return None
    request.caller = Caller(address=request.caller.address)
    return render_page(request, "signed_out.html", address=address) if address else None


def _login_page(request: RegistryRequest, error: MetierError, target: str) -> HttpResponse:
    page = render_page(request, "login.html", error=f"{error}; {error.hint}", next=target, has_sso=True)
    return with_status(page, error)


def _provider(request: RegistryRequest) -> OidcProvider:
    if request.registry.provider is None:
        raise NotFoundError("this registry has no single sign-on", hint="log in with a token")
    return request.registry.provider


def _kept(request: RegistryRequest) -> _Kept:
    for value in cookie_values(request.scope, cookie_name(request.base, _COOKIE))[:8]:
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(value), type=_Kept)
        except (ValueError, msgspec.DecodeError):
            continue
    raise UnauthenticatedError("this sign-in has expired or did not start in this browser", hint="sign in again")


def _redirect_uri(request: RegistryRequest) -> str:
    return f"{request.base}/login/callback"


def _set_cookie(request: RegistryRequest, response: RedirectResponse, name: str, value: str, seconds: int) -> None:
    # Not strict: the browser comes back from the provider's host.
    response.set_cookie(
        cookie_name(request.base, name), value, max_age=seconds, path="/", httponly=True, samesite="lax",
        secure=request.base.startswith("https:"),
    )  # fmt: skip


def _delete_cookie(request: RegistryRequest, response: RedirectResponse, name: str) -> None:
    response.delete_cookie(
        cookie_name(request.base, name), path="/", httponly=True, samesite="lax", secure=request.base.startswith("https:")
    )
