"""API routes for tokens, signing keys, reports, the audit log and statistics."""

from __future__ import annotations

from msgspec import Struct, field

from metier.errors import NotFoundError
from metier.registry import wire
from metier.registry.domain.access import Right

from . import views
from .packages import int_parameter
from .responses import Headers, HttpResponse, json_response
from .routing import QueryParameter, RegistryRequest, Route
from .uploads import read_json

__all__ = ["ROUTES"]

_NO_STORE: Headers = ((b"cache-control", b"no-store"),)
_PAGE = 50
_BEFORE = QueryParameter("before", "only entries with a smaller number", {"type": "integer", "minimum": 1})


class TokenRequest(Struct):
    holder: str
    scopes: list[str]
    note: str = ""
    days: int | None = None
    """Days until it expires; 0 means never, and null the registry's default."""


class WhoAmI(Struct):
    name: str
    scopes: list[str]


class KeyRequest(Struct):
    public: str
    note: str = ""


class KeyList(Struct):
    keys: list[wire.KeyRow]


class ReportList(Struct):
    reports: list[wire.AbuseReport]
    next: str | None = None
    """`before` of the next page, if there is one."""


class ReportDecision(Struct):
    state: str
    note: str = ""


class Acknowledgement(Struct):
    ok: bool = True


class RevokedTokens(Struct):
    ok: bool = True
    revoked: int = 1
    """The token and the tokens that were created with it."""


class TrendingSkill(Struct):
    skill: wire.SkillSummary
    recent: int


class TrendingList(Struct):
    trending: list[TrendingSkill]


class RegistryTotals(Struct):
    packages: int = 0
    releases: int = 0
    downloads: int = 0
    bytes: int = field(default=0)


async def whoami(request: RegistryRequest) -> HttpResponse:
    return json_response(WhoAmI(request.caller.name, list(request.caller.scopes)), headers=_NO_STORE)


async def tokens(request: RegistryRequest) -> HttpResponse:
    rows = await request.registry.tokens.list(request.caller)
    return json_response(wire.TokenList(tokens=[views.token(row) for row in rows]), headers=_NO_STORE)


async def create_token(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, TokenRequest)
    now = request.registry.clock()
    text, row = await request.registry.tokens.create(
        request.caller, holder=wanted.holder, scopes=tuple(wanted.scopes), note=wanted.note, now=now,
        expires=request.registry.tokens.expiry(wanted.days, now=now),
    )  # fmt: skip
    return json_response(wire.NewToken(token=text, row=views.token(row)), status=201, headers=_NO_STORE)


async def revoke_token(request: RegistryRequest) -> HttpResponse:
    text = request.params["id"]
    is_number = text.isascii() and text.isdigit() and len(text) < 16
    now = request.registry.clock()
    revoked = await request.registry.tokens.revoke(request.caller, int(text), now=now) if is_number else 0
    if not revoked:
        raise NotFoundError(f"no active token {text[:20]!r}", hint="see GET /tokens")
    return json_response(RevokedTokens(revoked=revoked), headers=_NO_STORE)


async def keys(request: RegistryRequest) -> HttpResponse:
    namespace = request.params["namespace"]
    rows = await request.registry.signatures.keys(namespace)
    # The notes are for the namespace itself.
    notes = request.caller.may(Right.MANAGE, namespace)
    return json_response(KeyList([views.signing_key(row, note=notes) for row in rows]))


async def add_key(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, KeyRequest)
    row = await request.registry.signatures.add_key(
        request.caller, request.params["namespace"], wanted.public, note=wanted.note
    )
    return json_response(views.signing_key(row), status=201)


async def revoke_key(request: RegistryRequest) -> HttpResponse:
    await request.registry.signatures.revoke_key(request.caller, request.params["namespace"], request.params["keyid"])
    return json_response(Acknowledgement())


async def reports(request: RegistryRequest) -> HttpResponse:
    state = request.query_params.get("state", "open")
    anonymous = request.query_params.get("anonymous")
    rows = await request.registry.moderation.reports(
        request.caller, state=state, before=_before(request), anonymous=None if anonymous is None else anonymous == "1"
    )
    return json_response(ReportList(rows, next=str(rows[-1].id) if len(rows) == _PAGE else None), headers=_NO_STORE)


async def resolve(request: RegistryRequest) -> HttpResponse:
    text = request.params["id"]
    wanted = await read_json(request, ReportDecision)
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotFoundError(f"unknown report {text[:20]!r}", hint="see GET /reports")
    await request.registry.moderation.resolve(request.caller, int(text), state=wanted.state, note=wanted.note)
    return json_response(Acknowledgement(), headers=_NO_STORE)


async def audit(request: RegistryRequest) -> HttpResponse:
    subject = request.query_params.get("subject", "")
    rows = await request.registry.moderation.audit(request.caller, subject=subject, before=_before(request))
    lines = [
        wire.AuditLine(
            id=number,
            at=views.iso(event.at),
            actor=event.actor,
            action=event.action,
            subject=event.subject,
            details=event.details,
            token=event.token,
            address=event.address,
        )
        for number, event in rows
    ]
    return json_response(wire.AuditPage(events=lines, next=str(rows[-1][0]) if len(rows) == _PAGE else None), headers=_NO_STORE)


async def trending(request: RegistryRequest) -> HttpResponse:
    found = await request.registry.queries.trending(request.caller, days=int_parameter(request, "days", 7, 90))
    return json_response(TrendingList([TrendingSkill(views.skill(package, request.base), recent) for package, recent in found]))


async def stats(request: RegistryRequest) -> HttpResponse:
    return json_response(RegistryTotals(**await request.registry.queries.totals(request.caller)))


def _before(request: RegistryRequest) -> int | None:
    return int_parameter(request, "before", 0, 1 << 29) or None


ROUTES = (
    Route(
        method="GET", path="/whoami", endpoint=whoami, summary="The holder and the scopes of the token.", response_type=WhoAmI
    ),
    Route(
        method="GET",
        path="/tokens",
        endpoint=tokens,
        summary="List your tokens; without the scope tokens, only this one.",
        response_type=wire.TokenList,
        auth="any",
    ),
    Route(
        method="POST",
        path="/tokens",
        endpoint=create_token,
        summary="Create a token; its text is shown once.",
        body=TokenRequest,
        response_type=wire.NewToken,
        rate="write",
        status=201,
        auth="tokens and the new scopes, or admin",
    ),
    Route(
        method="DELETE",
        path="/tokens/{id}",
        endpoint=revoke_token,
        summary="Revoke a token and the tokens created with it.",
        response_type=RevokedTokens,
        rate="write",
        auth="tokens, or the token itself",
    ),
    Route(
        method="GET",
        path="/namespaces/{namespace}/keys",
        endpoint=keys,
        summary="List the signing keys of a namespace.",
        response_type=KeyList,
    ),
    Route(
        method="POST",
        path="/namespaces/{namespace}/keys",
        endpoint=add_key,
        summary="Register an Ed25519 key of a namespace.",
        body=KeyRequest,
        response_type=wire.KeyRow,
        rate="write",
        status=201,
        auth="publish:NAMESPACE",
    ),
    Route(
        method="DELETE",
        path="/namespaces/{namespace}/keys/{keyid}",
        endpoint=revoke_key,
        summary="Revoke a signing key.",
        response_type=Acknowledgement,
        rate="write",
        auth="publish:NAMESPACE",
    ),
    Route(
        method="GET",
        path="/reports",
        endpoint=reports,
        summary="List reports.",
        response_type=ReportList,
        auth="admin",
        query=(
            QueryParameter("state", "open, accepted or rejected"),
            QueryParameter("anonymous", "1: without a token, 0: with one", {"type": "string", "enum": ["1", "0"]}),
            _BEFORE,
        ),
    ),
    Route(
        method="POST",
        path="/reports/{id}",
        endpoint=resolve,
        summary="Resolve a report.",
        body=ReportDecision,
        response_type=Acknowledgement,
        rate="write",
        auth="admin",
    ),
    Route(
        method="GET",
        path="/audit",
        endpoint=audit,
        summary="List changes, newest first.",
        response_type=wire.AuditPage,
        auth="admin",
        query=(QueryParameter("subject", "only of this subject, such as skill:pdf"), _BEFORE),
    ),
    Route(
        method="GET",
        path="/trending",
        endpoint=trending,
        summary="The most downloaded skills of the last days.",
        response_type=TrendingList,
        query=(QueryParameter("days", "number of days", {"type": "integer", "minimum": 1, "maximum": 90}),),
    ),
    Route(method="GET", path="/stats", endpoint=stats, summary="Totals of the registry.", response_type=RegistryTotals),
)
