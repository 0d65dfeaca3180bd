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
from metier.registry.server import views as presenting
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


async def login(call: RegistryRequest) -> HttpResponse:
    return render_page(call, "login.html", wrong="", next=_inside(call.query_params.get("next", "")))


async def log_in(call: RegistryRequest) -> ASGIApp:
    # No cookie came with it yet, so nobody has checked where it comes from.
    if urlsplit(call.headers.get("origin", "")).netloc != urlsplit(call.base).netloc:
        raise RefusedError("this form did not come from the registry's own pages", rule="origin", hint="log in on its own page")
    form = await call.form()
    text, where = form_field(form, "token"), _inside(form_field(form, "next"))
    try:
        if not text:
            raise UnauthenticatedError("there is no token", hint="paste one")
        await call.registry.tokens.caller(text, address="", now=call.registry.clock())
    except UnauthenticatedError as error:
        return with_status(render_page(call, "login.html", wrong=f"{error}; {error.hint}", next=where), error)
    answer = RedirectResponse(where or "/account", status_code=303)
    secure = call.base.startswith("https:")
    answer.set_cookie(_COOKIE, text, max_age=_TWO_WEEKS, path="/", httponly=True, samesite="lax", secure=secure)
    return answer


async def log_out(_call: RegistryRequest) -> ASGIApp:
    answer = RedirectResponse("/", status_code=303)
    answer.delete_cookie(_COOKIE, path="/", httponly=True, samesite="lax")
    return answer


async def publish_form(call: RegistryRequest) -> HttpResponse:
    _need_token(call, "publish")
    return _publish_page(call)


async def publish(call: RegistryRequest) -> ASGIApp:
    _need_token(call, "publish")
    try:
        data, fields = await read_archive(call, limit=call.registry.options.upload_bytes)
        visibility = fields.get("visibility", "")
        dry_run = fields.get("dry_run", "0") == "1"
        intent = PublishRequest(
            kind=PackageKind.SKILL, namespace=fields.get("namespace", "").strip(), dry_run=dry_run,
            visibility=PackageVisibility(visibility) if visibility in tuple(PackageVisibility) else None,
        )  # fmt: skip
        done = await call.registry.publishing.publish(call.caller, data, intent)
    except MetierError as error:
        return _publish_page(call, wrong=error)
    if dry_run:
        return _publish_page(call, tried=presenting.accepted(done, call.base))
    return redirect(f"/skill/{done.admitted.name}")


def _publish_page(call: RegistryRequest, *, wrong: MetierError | None = None, tried: object = None) -> HttpResponse:
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
    limit = call.registry.options.upload_bytes
    shown = render_page(call, "publish.html", wrong=told, tried=tried, limit=limit, namespace=call.caller.name)
    return with_status(shown, wrong)


async def yank(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    name = call.params["name"]
    version, reason = form_field(form, "version"), form_field(form, "reason")
    await call.registry.owning.yank(call.caller, PackageKind.SKILL, name, version, reason=reason)
    return redirect(f"/skill/{name}/versions")


async def unyank(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    await call.registry.owning.unyank(call.caller, PackageKind.SKILL, call.params["name"], form_field(form, "version"))
    return redirect(f"/skill/{call.params['name']}/versions")


async def report(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    told = AbuseReport(
        reason=form_field(form, "reason"), details=form_field(form, "details"), version=form_field(form, "version")
    )
    await call.registry.moderating.report(call.caller, PackageKind.SKILL, call.params["name"], told)
    return render_page(call, "thanks.html", name=call.params["name"])


async def account(call: RegistryRequest, *, made: str = "", wrong: MetierError | None = None) -> HttpResponse:
    _need_token(call, "see your tokens")
    tokens = await call.registry.tokens.listed(call.caller)
    owned = await call.registry.reading.find(
        call.caller, ListQuery(filters=PackageFilters(owner=call.caller.name), sort=Sort.UPDATED, limit=100)
    )
    told = f"{wrong}; {wrong.hint}" if wrong else ""
    return with_status(render_page(call, "account.html", tokens=tokens, made=made, wrong=told, cards=owned.cards), wrong)


async def make_token(call: RegistryRequest) -> HttpResponse:
    form = await call.form()
    try:
        now = call.registry.clock()
        days = form_field(form, "days")
        if days and not (days.isascii() and days.isdigit() and 0 < int(days) <= 3650):
            raise UsageError(f"{days[:20]!r} is no number of days", hint="write 1 to 3650, or nothing")
        text, _ = await call.registry.tokens.create(
            call.caller, holder=form_field(form, "holder"), scopes=tuple(form_field(form, "scopes").replace(",", " ").split()),
            note=form_field(form, "note"), expires=now + int(days) * _DAY_MS if days else None, now=now,
        )  # fmt: skip
    except MetierError as error:
        return await account(call, wrong=error)
    # No redirect: the token is shown on this answer and nowhere else.
    return await account(call, made=text)


async def revoke_token(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    number = form_field(form, "token")
    if number.isascii() and number.isdigit() and len(number) < 18:
        await call.registry.tokens.revoke(call.caller, int(number), now=call.registry.clock())
    return redirect("/account")


async def admin(call: RegistryRequest) -> HttpResponse:
    before = call.query_params.get("before", "")
    events = await call.registry.moderating.audit(
        call.caller, before=int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None
    )
    reports = await call.registry.moderating.reports(call.caller)
    quarantined = await call.registry.moderating.quarantined(call.caller)
    older = events[-1][0] if len(events) >= 50 else None
    return render_page(call, "admin.html", reports=reports, events=events, older=older, quarantined=quarantined)


async def resolve(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    number, state, note = form_field(form, "report"), form_field(form, "state"), form_field(form, "note")
    if not (number.isascii() and number.isdigit() and len(number) < 18):
        raise UsageError(f"{number[:20]!r} is no report", hint="see the list of reports")
    moderating = call.registry.moderating
    about = next((each for each in await moderating.reports(call.caller) if each.id == int(number)), None)
    await moderating.resolve(call.caller, int(number), state=state, note=note)
    if state == "accepted" and about is not None:
        await moderating.quarantine(call.caller, PackageKind(about.kind), about.name, reason=note or about.reason)
    return redirect("/admin")


async def quarantine(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    await call.registry.moderating.quarantine(
        call.caller, PackageKind.SKILL, form_field(form, "name"), reason=form_field(form, "reason")
    )  # fmt: skip
    return redirect("/admin")


async def let_go(call: RegistryRequest) -> ASGIApp:
    form = await call.form()
    await call.registry.moderating.release(call.caller, PackageKind.SKILL, form_field(form, "name"))
    return redirect("/admin")


def _need_token(call: RegistryRequest, what: str) -> None:
    call.caller.need(True, what, scope="publish:NAMESPACE")


def _inside(where: str) -> str:
    """A path of our own, and nothing that a browser could take for another host."""
    fine = where.startswith("/") and not where.startswith(("//", "/\\")) and where.isprintable() and "\\" not in where
    return where if fine else ""
