"""Pages for invitations: the administrator's form, and the page that a link leads to."""

from __future__ import annotations

from starlette.types import ASGIApp

from metier.errors import MetierError, UsageError
from metier.registry.domain.records import Invitation
from metier.registry.server.authentication import check_origin
from metier.registry.server.responses import HttpResponse
from metier.registry.server.routing import RegistryRequest
from metier.registry.server.uploads import read_form

from . import forms
from .templates import redirect, render_page, with_status

__all__ = ["accept", "invitation_form", "invite", "withdraw"]


async def invite(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    days, registry = form.get("days", ""), request.registry
    try:
        if not (days.isascii() and days.isdigit() and len(days) < 4):
            raise UsageError(f"invalid number of days {days[:20]!r}", hint="use 1 to 90")
        text = await registry.invitations.create(
            request.caller, forms.chosen_scopes(form), days=int(days), note=form.get("note", ""), now=registry.clock()
        )
    except UsageError as error:
        return await forms.admin(request, error=error)
    # No redirect: only this response contains the link.
    return await forms.admin(request, invitation=f"{request.base}/invite/{text}")


async def withdraw(request: RegistryRequest) -> ASGIApp:
    form = await read_form(request)
    await request.registry.invitations.withdraw(request.caller, form.get("invitation", ""), now=request.registry.clock())
    return redirect("/admin")


async def invitation_form(request: RegistryRequest) -> HttpResponse:
    found = await request.registry.invitations.find(request.params["code"], now=request.registry.clock())
    return _page(request, invitation=found)


async def accept(request: RegistryRequest) -> HttpResponse:
    # Requests without a session skip the origin check of `authenticate`, so it happens here.
    check_origin(request)
    registry, code = request.registry, request.params["code"]
    form = await read_form(request)
    now = registry.clock()
    invitation = await registry.invitations.find(code, now=now)
    try:
        token, user = await registry.invitations.accept(
            code, form.get("name", "").lower(), address=request.caller.address, now=now
        )
    except MetierError as error:
        return with_status(_page(request, invitation=invitation, error=f"{error}; {error.hint}"), error)
    return _page(request, token=token, name=user.name)


def _page(
    request: RegistryRequest, *, invitation: Invitation | None = None, error: str = "", token: str = "", name: str = ""
) -> HttpResponse:
    code = request.params["code"]
    return render_page(request, "invite.html", invitation=invitation, error=error, token=token, name=name, code=code)
