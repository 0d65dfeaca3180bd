"""Routes of trusted publishing: the rules of a namespace, and the exchange of a job's token."""

from __future__ import annotations

from msgspec import Struct

from metier.errors import NotFoundError
from metier.registry import wire
from metier.registry.domain.records import TrustedPublisher

from . import views
from .accounts import Acknowledgement
from .responses import Headers, HttpResponse, json_response
from .routing import RegistryRequest, Route
from .uploads import read_json

__all__ = ["ROUTES"]

_NO_STORE: Headers = ((b"cache-control", b"no-store"),)
_PATH = "/namespaces/{namespace}/trusted-publishers"


class TrustedPublisherRequest(Struct):
    issuer: str
    repository: str
    workflow: str
    package: str = ""
    """Empty means all packages of the namespace."""
    ref: str = ""
    environment: str = ""


class ExchangeRequest(Struct):
    token: str
    namespace: str = ""
    package: str = ""


async def publishers(request: RegistryRequest) -> HttpResponse:
    rows = await request.registry.trusted_publishers.list(request.caller, request.params["namespace"])
    body = wire.TrustedPublisherList(publishers=[views.trusted_publisher(row) for row in rows])
    return json_response(body, headers=_NO_STORE)


async def add(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, TrustedPublisherRequest)
    row = TrustedPublisher(
        0, request.params["namespace"], wanted.package, wanted.issuer, wanted.repository, wanted.workflow, wanted.ref,
        wanted.environment, 0,
    )  # fmt: skip
    made = await request.registry.trusted_publishers.add(request.caller, row)
    return json_response(views.trusted_publisher(made), status=201)


async def remove(request: RegistryRequest) -> HttpResponse:
    text = request.params["id"]
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise NotFoundError(f"no trusted publisher {text[:20]!r}", hint="list the trusted publishers of the namespace")
    await request.registry.trusted_publishers.remove(request.caller, request.params["namespace"], int(text))
    return json_response(Acknowledgement())


async def exchange(request: RegistryRequest) -> HttpResponse:
    wanted = await read_json(request, ExchangeRequest)
    registry = request.registry
    if registry.job_tokens is None:
        raise NotFoundError(
            "trusted publishing needs the public address of this registry",
            hint="its administrator sets it: metier config set registry.url https://…",
        )
    job = await registry.job_tokens.verify(wanted.token)
    text, row = await registry.trusted_publishers.exchange(
        job, namespace=wanted.namespace, package=wanted.package, address=request.caller.address
    )
    return json_response(wire.NewToken(token=text, row=views.token(row)), status=201, headers=_NO_STORE)


ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        endpoint=publishers,
        summary="List the trusted publishers of a namespace.",
        response_type=wire.TrustedPublisherList,
        auth="publish:NAMESPACE",
    ),
    Route(
        method="POST",
        path=_PATH,
        endpoint=add,
        summary="Let a job of a CI system publish.",
        body=TrustedPublisherRequest,
        response_type=wire.TrustedPublisherRow,
        rate="write",
        status=201,
        auth="publish:NAMESPACE",
    ),
    Route(
        method="DELETE",
        path=f"{_PATH}/{{id}}",
        endpoint=remove,
        summary="Remove a trusted publisher, and revoke the tokens of its jobs.",
        response_type=Acknowledgement,
        rate="write",
        auth="publish:NAMESPACE",
    ),
    Route(
        method="POST",
        path="/oidc/exchange",
        endpoint=exchange,
        summary="Exchange the ID token of a CI job for a token that publishes for 15 minutes.",
        body=ExchangeRequest,
        response_type=wire.NewToken,
        rate="write",
        status=201,
    ),
)
