"""Pages with forms: login, publish, yank, report, tokens and moderation. Each redirects, or shows the error."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp

from metier.errors import InvalidSkillError, MetierError, UsageError
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.admission import findings_from
from metier.registry.domain.publish import PublishRequest
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import PackageFilters, PackageKind, PackageVisibility, Sort
from metier.registry.server import views
from metier.registry.server.authentication import check_origin, cookie_name, session_texts
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.registry.server.uploads import read_form, receive_archive
from metier.registry.wire import AbuseReport, PublishReceipt

from .sign_in import logout_page, start_session
from .templates import local_path, redirect, render_page, with_status

__all__ = [
    "account", "admin", "chosen_scopes", "create_token", "decide_device", "device_form", "log_in", "log_out", "login_form",
    "publish", "publish_form", "quarantine", "release_quarantined", "report", "resolve_report", "revoke_token", "set_user",
    "unyank", "yank",
]  # fmt: skip

_SCOPE_FIELD = "scope:"
_MOST_OFFERED = 12
_ADMIN_SCOPES = ("read", "publish:*", "yank", "tokens", "metrics", "admin")
_PAGE = 50


async def login_form(request: RegistryRequest) -> HttpResponse:
    return _login_page(request, next=local_path(request.query_params.get("next", "")))


async def log_in(request: RegistryRequest) -> ASGIApp:
    # Requests without a session skip the origin check of `authenticate`, so it happens here.
    check_origin(request)
    registry, address = request.registry, request.caller.address
    form = await read_form(request)
    text, target = form.get("token", ""), local_path(form.get("next", ""))
    try:
        if not text:
            raise UnauthenticatedError("no token", hint="enter a token")
        caller = await registry.tokens.authenticate(text, address=address, now=registry.clock())
    except UnauthenticatedError as error:
        await registry.failed_logins.record(text, address=address, error=error)
        return with_status(_login_page(request, error=f"{error}; {error.hint}", next=target), error)
    return await start_session(request, caller, target)


def _login_page(request: RegistryRequest, *, next: str, error: str = "") -> HttpResponse:  # noqa: A002  (a field of the form)
    return render_page(request, "login.html", error=error, next=next, has_sso=request.registry.provider is not None)


async def log_out(request: RegistryRequest) -> ASGIApp:
    texts = session_texts(request.scope, request.base)
    await request.registry.sessions.end(request.caller, texts, now=request.registry.clock())
    page = await logout_page(request)
    if page is not None:
        # The cookie stays: its session is over, and a new one replaces it.
        return page
    response = RedirectResponse("/", status_code=303)
    response.delete_cookie(cookie_name(request.base), path="/", httponly=True, samesite="lax", secure=_is_secure(request))
    return response


def _is_secure(request: RegistryRequest) -> bool:
    return request.base.startswith("https:")


async def publish_form(request: RegistryRequest) -> HttpResponse:
    _require_token(request, "publish")
    return _publish_page(request)


async def publish(request: RegistryRequest) -> ASGIApp:
    _require_token(request, "publish")
    try:
        async with receive_archive(request, limit=request.registry.options.upload_bytes) as upload:
            visibility = upload.fields.get("visibility", "")
            dry_run = upload.fields.get("dry_run", "0") == "1"
            options = PublishRequest(
                kind=PackageKind.SKILL, namespace=upload.fields.get("namespace", "").strip(), dry_run=dry_run,
                visibility=PackageVisibility(visibility) if visibility in tuple(PackageVisibility) else None,
            )  # fmt: skip
            done = await request.registry.publisher.publish(request.caller, upload.read, options)
    except MetierError as error:
        return _publish_page(request, error=error)
    if dry_run:
        return _publish_page(request, dry_run=views.publish_receipt(done, request.base))
    return redirect(f"/skill/{done.admitted.name}")


def _publish_page(
    request: RegistryRequest, *, error: MetierError | None = None, dry_run: PublishReceipt | None = None
) -> HttpResponse:
    shown = None
    if error is not None:
        findings = findings_from(error.report) if isinstance(error, InvalidSkillError) else ()
        shown = {"message": str(error), "hint": error.hint, "findings": findings}
    limit = request.registry.options.upload_bytes
    response = render_page(
        request, "publish.html", error=shown, dry_run=dry_run, limit=limit, namespace=request.caller.name
    )  # fmt: skip
    return with_status(response, error)


async def yank(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    name = request.params["name"]
    version, reason = form.get("version", ""), form.get("reason", "")
    await request.registry.ownership.yank(request.caller, PackageKind.SKILL, name, version, reason=reason)
    return redirect(f"/skill/{name}/versions")


async def unyank(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    await request.registry.ownership.unyank(request.caller, PackageKind.SKILL, request.params["name"], form.get("version", ""))
    return redirect(f"/skill/{request.params['name']}/versions")


async def report(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    sent = AbuseReport(reason=form.get("reason", ""), details=form.get("details", ""), version=form.get("version", ""))
    await request.registry.moderation.report(request.caller, PackageKind.SKILL, request.params["name"], sent)
    return render_page(request, "report_sent.html", name=request.params["name"])


async def account(request: RegistryRequest, *, new_token: str = "", error: MetierError | None = None) -> HttpResponse:
    _require_token(request, "list your tokens")
    tokens = await request.registry.tokens.list(request.caller)
    owned = await request.registry.queries.find(
        request.caller, ListQuery(filters=PackageFilters(owner=request.caller.name), sort=Sort.UPDATED, limit=100)
    )
    message = f"{error}; {error.hint}" if error else ""
    return with_status(
        render_page(
            request,
            "account.html",
            tokens=tokens,
            offered=_offered_scopes(request),
            token_days=request.registry.options.token_days,
            prefixes={row.id: row.prefix for row in tokens},
            new_token=new_token,
            error=message,
            packages=owned.packages,
        ),
        error,
    )


async def create_token(request: RegistryRequest) -> HttpResponse:
    form = await read_form(request)
    try:
        now = request.registry.clock()
        days = form.get("days", "")
        if days and not (days.isascii() and days.isdigit() and len(days) < 5):
            raise UsageError(f"invalid number of days {days[:20]!r}", hint="use 1 to 3,650, or leave it empty")
        text, _ = await request.registry.tokens.create(
            request.caller,
            holder=form.get("holder", ""),
            scopes=chosen_scopes(form),
            note=form.get("note", ""),
            expires=request.registry.tokens.expiry(int(days or 0), now=now),
            now=now,
        )
    except MetierError as error:
        return await account(request, error=error)
    # No redirect: only this response contains the token.
    return await account(request, new_token=text)


async def device_form(request: RegistryRequest, *, done: str = "", error: MetierError | None = None) -> ASGIApp:
    user_code = request.query_params.get("user_code", "")
    if request.caller.token is None:
        target = f"/device?{urlencode({'user_code': user_code})}" if user_code else "/device"
        return redirect(f"/login?{urlencode({'next': target})}")
    waiting = None
    if user_code and not done and error is None:
        try:
            waiting = await request.registry.device_logins.find(request.caller, user_code, now=request.registry.clock())
        except MetierError as found:
            error = found
    page = render_page(
        request, "device.html", waiting=waiting, done=done, error=f"{error}; {error.hint}" if error else "",
        offered=_offered_scopes(request),
    )  # fmt: skip
    return with_status(page, error)


async def decide_device(request: RegistryRequest) -> ASGIApp:
    _require_token(request, "log in a device")
    form = await read_form(request)
    logins, now, code = request.registry.device_logins, request.registry.clock(), form.get("user_code", "")
    try:
        if form.get("action", "") == "approve":
            await logins.approve(request.caller, code, chosen_scopes(form), now=now)
            return await device_form(
                request, done="Approved. The device fetches its token in a few seconds; you may close this page."
            )
        await logins.deny(request.caller, code, now=now)
    except MetierError as error:
        return await device_form(request, error=error)
    return await device_form(request, done="Denied. The device gets no token.")


def _offered_scopes(request: RegistryRequest) -> tuple[str, ...]:
    return (_ADMIN_SCOPES if request.caller.is_admin else request.caller.scopes)[:_MOST_OFFERED]


def chosen_scopes(form: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the scopes of the boxes that are checked, and those of the text field."""
    boxes = (name.removeprefix(_SCOPE_FIELD) for name in form if name.startswith(_SCOPE_FIELD))
    return (*boxes, *form.get("scopes", "").replace(",", " ").split())


async def revoke_token(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    number = form.get("token", "")
    if number.isascii() and number.isdigit() and len(number) < 18:
        await request.registry.tokens.revoke(request.caller, int(number), now=request.registry.clock())
    return redirect("/account")


async def admin(request: RegistryRequest, *, invitation: str = "", error: MetierError | None = None) -> HttpResponse:
    moderation, invitations = request.registry.moderation, request.registry.invitations
    events = await moderation.audit(request.caller, before=_number(request, "before"))
    # Separate lists, so that reports without a token do not bury the others.
    reports = await moderation.reports(request.caller, before=_number(request, "reports"), anonymous=False)
    anonymous = await moderation.reports(request.caller, before=_number(request, "anonymous"), anonymous=True)
    quarantined = await moderation.quarantined(request.caller)
    users = await request.registry.users.list(request.caller, after=request.query_params.get("users", ""))
    page = render_page(
        request, "admin.html", reports=reports, anonymous=anonymous, events=events, quarantined=quarantined, users=users,
        invitation=invitation, error=f"{error}; {error.hint}" if error else "", offered=_offered_scopes(request),
        invitations=await invitations.list(request.caller, now=request.registry.clock()),
        versions=await moderation.quarantined_versions(request.caller),
        older=events[-1][0] if len(events) >= _PAGE else None, page=_PAGE,
    )  # fmt: skip
    return with_status(page, error)


async def set_user(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    disabled = form.get("action", "disable") != "enable"
    registry = request.registry
    await registry.users.set_disabled(request.caller, form.get("name", ""), disabled=disabled, now=registry.clock())
    return redirect("/admin")


async def resolve_report(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    number, state, note = form.get("report", ""), form.get("state", ""), form.get("note", "")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise UsageError(f"unknown report {number[:20]!r}", hint="see the list of reports")
    await request.registry.moderation.resolve(request.caller, int(number), state=state, note=note)
    return redirect("/admin")


async def quarantine(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    moderation, name, reason = request.registry.moderation, form.get("name", ""), form.get("reason", "")
    if version := form.get("version", "").strip():
        await moderation.quarantine_version(request.caller, PackageKind.SKILL, name, version, reason=reason)
    else:
        await moderation.quarantine(request.caller, PackageKind.SKILL, name, reason=reason)
    return redirect("/admin")


async def release_quarantined(request: RegistryRequest) -> ASGIApp:
    """Ends the quarantine of a package or of one version, or deletes that version."""
    form = await read_form(request)
    moderation, name, version = request.registry.moderation, form.get("name", ""), form.get("version", "")
    if not version:
        await moderation.release(request.caller, PackageKind.SKILL, name)
    elif form.get("action", "") == "remove":
        await moderation.remove_version(request.caller, PackageKind.SKILL, name, version)
    else:
        await moderation.release_version(request.caller, PackageKind.SKILL, name, version)
    return redirect("/admin")


def _number(request: RegistryRequest, name: str) -> int | None:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else None


def _require_token(request: RegistryRequest, action: str) -> None:
    request.caller.require(True, action, scope="publish:NAMESPACE")
