"""Forms: log in, publish, yank, report, tokens, and what moderators do. Each ends in a redirect, or says what is wrong."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp

from metier.errors import InvalidSkillError, MetierError, RefusedError, UsageError
from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.publish import PublishRequest
from metier.registry.domain.queries import ListQuery
from metier.registry.domain.records import PackageFilters, PackageKind, PackageVisibility, Sort
from metier.registry.server import views as views
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.registry.server.uploads import read_archive
from metier.registry.wire import AbuseReport, ReleaseFinding

from .templates import form_field, redirect, render_page, with_status

__all__ = [
    "account", "admin", "let_go", "log_in", "log_out", "login", "make_token", "publish", "publish_form", "quarantine", "report",
    "resolve", "revoke_token", "unyank", "yank",
]  # fmt: skip

_COOKIE = "metier_token"
_DAY_MS = 86_400_000
_TWO_WEEKS = 14 * 86_400


async def login(request: RegistryRequest) -> HttpResponse:
    return render_page(request, "login.html", wrong="", next=_inside(request.query_params.get("next", "")))


async def log_in(request: RegistryRequest) -> ASGIApp:
    # No cookie came with it yet, so nobody has checked where it comes from.
    if urlsplit(request.headers.get("origin", "")).netloc != urlsplit(request.base).netloc:
        raise RefusedError("this form did not come from the registry's own pages", rule="origin", hint="log in on its own page")
    form = await request.form()
    text, where = form_field(form, "token"), _inside(form_field(form, "next"))
    try:
        if not text:
            raise UnauthenticatedError("there is no token", hint="paste one")
        await request.registry.tokens.authenticate(text, address="", now=request.registry.clock())
    except UnauthenticatedError as error:
        return with_status(render_page(request, "login.html", wrong=f"{error}; {error.hint}", next=where), error)
    answer = RedirectResponse(where or "/account", status_code=303)
    secure = request.base.startswith("https:")
    answer.set_cookie(_COOKIE, text, max_age=_TWO_WEEKS, path="/", httponly=True, samesite="lax", secure=secure)
    return answer


async def log_out(_request: RegistryRequest) -> ASGIApp:
    answer = RedirectResponse("/", status_code=303)
    answer.delete_cookie(_COOKIE, path="/", httponly=True, samesite="lax")
    return answer


async def publish_form(request: RegistryRequest) -> HttpResponse:
    _need_token(request, "publish")
    return _publish_page(request)


async def publish(request: RegistryRequest) -> ASGIApp:
    _need_token(request, "publish")
    try:
        data, fields = await read_archive(request, limit=request.registry.options.upload_bytes)
        visibility = fields.get("visibility", "")
        dry_run = fields.get("dry_run", "0") == "1"
        intent = PublishRequest(
            kind=PackageKind.SKILL, namespace=fields.get("namespace", "").strip(), dry_run=dry_run,
            visibility=PackageVisibility(visibility) if visibility in tuple(PackageVisibility) else None,
        )  # fmt: skip
        done = await request.registry.publisher.publish(request.caller, data, intent)
    except MetierError as error:
        return _publish_page(request, wrong=error)
    if dry_run:
        return _publish_page(request, tried=views.publish_receipt(done, request.base))
    return redirect(f"/skill/{done.admitted.name}")


def _publish_page(request: RegistryRequest, *, wrong: MetierError | None = None, tried: object = None) -> HttpResponse:
    told: dict[str, object] | None = None
    if wrong is not None:
        problems = wrong.report if isinstance(wrong, InvalidSkillError) else ()
        rows = [
            ReleaseFinding(
                rule=one.code, severity=one.severity, message=one.message, file=one.file, line=one.line, hint=one.hint
            )
            for one in problems
        ]
        told = {"message": str(wrong), "hint": wrong.hint, "findings": rows}
    limit = request.registry.options.upload_bytes
    shown = render_page(request, "publish.html", wrong=told, tried=tried, limit=limit, namespace=request.caller.name)
    return with_status(shown, wrong)


async def yank(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    name = request.params["name"]
    version, reason = form_field(form, "version"), form_field(form, "reason")
    await request.registry.ownership.yank(request.caller, PackageKind.SKILL, name, version, reason=reason)
    return redirect(f"/skill/{name}/versions")


async def unyank(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    await request.registry.ownership.unyank(
        request.caller, PackageKind.SKILL, request.params["name"], form_field(form, "version")
    )
    return redirect(f"/skill/{request.params['name']}/versions")


async def report(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    told = AbuseReport(
        reason=form_field(form, "reason"), details=form_field(form, "details"), version=form_field(form, "version")
    )
    await request.registry.moderation.report(request.caller, PackageKind.SKILL, request.params["name"], told)
    return render_page(request, "thanks.html", name=request.params["name"])


async def account(request: RegistryRequest, *, made: str = "", wrong: MetierError | None = None) -> HttpResponse:
    _need_token(request, "see your tokens")
    tokens = await request.registry.tokens.list(request.caller)
    owned = await request.registry.queries.find(
        request.caller, ListQuery(filters=PackageFilters(owner=request.caller.name), sort=Sort.UPDATED, limit=100)
    )
    told = f"{wrong}; {wrong.hint}" if wrong else ""
    return with_status(
        render_page(request, "account.html", tokens=tokens, made=made, wrong=told, packages=owned.packages), wrong
    )


async def make_token(request: RegistryRequest) -> HttpResponse:
    form = await request.form()
    try:
        now = request.registry.clock()
        days = form_field(form, "days")
        if days and not (days.isascii() and days.isdigit() and 0 < int(days) <= 3650):
            raise UsageError(f"{days[:20]!r} is no number of days", hint="write 1 to 3650, or nothing")
        text, _ = await request.registry.tokens.create(
            request.caller,
            holder=form_field(form, "holder"),
            scopes=tuple(form_field(form, "scopes").replace(",", " ").split()),
            note=form_field(form, "note"),
            expires=now + int(days) * _DAY_MS if days else None,
            now=now,
        )
    except MetierError as error:
        return await account(request, wrong=error)
    # No redirect: the token is shown on this answer and nowhere else.
    return await account(request, made=text)


async def revoke_token(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    number = form_field(form, "token")
    if number.isascii() and number.isdigit() and len(number) < 18:
        await request.registry.tokens.revoke(request.caller, int(number), now=request.registry.clock())
    return redirect("/account")


async def admin(request: RegistryRequest) -> HttpResponse:
    before = request.query_params.get("before", "")
    events = await request.registry.moderation.audit(
        request.caller, before=int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None
    )
    reports = await request.registry.moderation.reports(request.caller)
    quarantined = await request.registry.moderation.quarantined(request.caller)
    older = events[-1][0] if len(events) >= 50 else None
    return render_page(request, "admin.html", reports=reports, events=events, older=older, quarantined=quarantined)


async def resolve(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    number, state, note = form_field(form, "report"), form_field(form, "state"), form_field(form, "note")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise UsageError(f"{number[:20]!r} is no report", hint="see the list of reports")
    moderation = request.registry.moderation
    about = next((each for each in await moderation.reports(request.caller) if each.id == int(number)), None)
    await moderation.resolve(request.caller, int(number), state=state, note=note)
    if state == "accepted" and about is not None:
        await moderation.quarantine(request.caller, PackageKind(about.kind), about.name, reason=note or about.reason)
    return redirect("/admin")


async def quarantine(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    await request.registry.moderation.quarantine(
        request.caller, PackageKind.SKILL, form_field(form, "name"), reason=form_field(form, "reason")
    )  # fmt: skip
    return redirect("/admin")


async def let_go(request: RegistryRequest) -> ASGIApp:
    form = await request.form()
    await request.registry.moderation.release(request.caller, PackageKind.SKILL, form_field(form, "name"))
    return redirect("/admin")


def _need_token(request: RegistryRequest, what: str) -> None:
    request.caller.require(True, what, scope="publish:NAMESPACE")


def _inside(where: str) -> str:
    """A path of our own, and nothing that a browser could take for another host."""
    fine = where.startswith("/") and not where.startswith(("//", "/\\")) and where.isprintable() and "\\" not in where
    return where if fine else ""
