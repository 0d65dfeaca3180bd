"""API routes for users and open invitations, for administrators."""

from __future__ import annotations

from msgspec import Struct

from metier.registry.domain.records import Invitation, RegistryUser

from . import views
from .responses import Headers, HttpResponse, json_response
from .routing import QueryParameter, RegistryRequest, Route
from .uploads import read_json

__all__ = ["ROUTES"]

_NO_STORE: Headers = ((b"cache-control", b"no-store"),)
_PAGE = 100


class UserRow(Struct, kw_only=True):
    name: str
    email: str
    scopes: list[str]
    created: str
    signed_in: str | None
    disabled: str | None


class UserList(Struct, kw_only=True):
    users: list[UserRow]
    next: str | None = None
    """`after` of the next page, if there is one."""


class UserChange(Struct):
    disabled: bool


class UserChanged(Struct):
    revoked: int
    """The tokens that ended with it."""


class InvitationRow(Struct, kw_only=True):
    id: str
    scopes: list[str]
    note: str
    expires: str


class InvitationList(Struct, kw_only=True):
    invitations: list[InvitationRow]


class Withdrawn(Struct):
    ok: bool = True


async def users(request: RegistryRequest) -> HttpResponse:
    rows = await request.registry.users.list(request.caller, after=request.query_params.get("after", ""))
    listed = UserList(users=[_user(row) for row in rows], next=rows[-1].name if len(rows) >= _PAGE else None)
    return json_response(listed, headers=_NO_STORE)


async def change_user(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, UserChange)
    registry = request.registry
    revoked = await registry.users.set_disabled(
        request.caller, request.params["name"], disabled=wanted.disabled, now=registry.clock()
    )
    return json_response(UserChanged(revoked), headers=_NO_STORE)


async def invitations(request: RegistryRequest) -> HttpResponse:
    rows = await request.registry.invitations.list(request.caller, now=request.registry.clock())
    return json_response(InvitationList(invitations=[_invitation(row) for row in rows]), headers=_NO_STORE)


async def withdraw(request: RegistryRequest) -> HttpResponse:
    await request.registry.invitations.withdraw(request.caller, request.params["id"], now=request.registry.clock())
    return json_response(Withdrawn(), headers=_NO_STORE)


def _user(row: RegistryUser) -> UserRow:
    return UserRow(
        name=row.name, email=row.email, scopes=list(row.scopes), created=views.iso(row.created),
        signed_in=views.iso_or_none(row.signed_in), disabled=views.iso_or_none(row.disabled),
    )  # fmt: skip


def _invitation(row: Invitation) -> InvitationRow:
    return InvitationRow(id=row.id, scopes=list(row.scopes), note=row.note, expires=views.iso(row.expires))


ROUTES = (
    Route(
        method="GET",
        path="/users",
        endpoint=users,
        summary="List the people who have signed in.",
        response_type=UserList,
        auth="admin",
        query=(QueryParameter("after", "only users whose name comes after this one"),),
    ),
    Route(
        method="PUT",
        path="/users/{name}",
        endpoint=change_user,
        summary="Disable or enable a user.",
        body=UserChange,
        response_type=UserChanged,
        rate="write",
        auth="admin",
    ),
    Route(
        method="GET",
        path="/invitations",
        endpoint=invitations,
        summary="List the open invitations.",
        response_type=InvitationList,
        auth="admin",
    ),
    Route(
        method="DELETE",
        path="/invitations/{id}",
        endpoint=withdraw,
        summary="Withdraw an invitation.",
        response_type=Withdrawn,
        rate="write",
        auth="admin",
    ),
)
