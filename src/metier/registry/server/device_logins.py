"""Routes of the device authorization grant (RFC 8628): forms in, OAuth's JSON out."""

from __future__ import annotations

from msgspec import Struct

from metier.errors import NotFoundError
from metier.registry.domain.device_logins import INTERVAL_SECONDS, DeviceLoginError

from .responses import Headers, HttpResponse, json_response
from .routing import RegistryRequest, Route
from .uploads import read_form

__all__ = ["ROUTES"]

_NO_STORE: Headers = ((b"cache-control", b"no-store"),)
_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class DeviceAuthorization(Struct):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int = INTERVAL_SECONDS


class DeviceToken(Struct):
    access_token: str
    scope: str
    token_type: str = "Bearer"  # noqa: S105  (a kind, not a token)


class OauthError(Struct):
    error: str
    error_description: str


async def start(request: RegistryRequest) -> HttpResponse:
    registry = request.registry
    if registry.provider is None:
        raise NotFoundError("this registry has no single sign-on", hint="log in with a token")
    codes = await registry.device_logins.start(address=request.caller.address, now=registry.clock())
    page = f"{request.base}/device"
    body = DeviceAuthorization(
        device_code=codes.device_code, user_code=codes.user_code, verification_uri=page,
        verification_uri_complete=f"{page}?user_code={codes.user_code}", expires_in=codes.expires_in,
    )  # fmt: skip
    return json_response(body, headers=_NO_STORE)


async def redeem(request: RegistryRequest) -> HttpResponse:
    form = await read_form(request)
    try:
        if form.get("grant_type") != _GRANT:
            raise DeviceLoginError("unsupported_grant_type", f"the grant type must be {_GRANT}")
        text, scopes = await request.registry.device_logins.redeem(form.get("device_code", ""), now=request.registry.clock())
    except DeviceLoginError as error:
        return json_response(OauthError(error.error, str(error)), status=400, headers=_NO_STORE)
    return json_response(DeviceToken(text, " ".join(scopes)), headers=_NO_STORE)


ROUTES = (
    Route(
        method="POST",
        path="/device/code",
        endpoint=start,
        summary="Start the login of a device (RFC 8628); needs single sign-on.",
        response_type=DeviceAuthorization,
        rate="write",
    ),
    Route(
        method="POST",
        path="/device/token",
        endpoint=redeem,
        summary="Fetch the token of a device that a person has approved; a form with grant_type and device_code.",
        response_type=DeviceToken,
        rate="write",
    ),
)
