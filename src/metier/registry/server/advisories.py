"""Routes of advisories: the signed list and its key for everyone, and changes by administrators."""

from __future__ import annotations

from metier.registry import wire

from .responses import HttpResponse, cacheable_response, json_response
from .routing import RegistryRequest, Route
from .uploads import read_json

__all__ = ["ROUTES"]


async def key(request: RegistryRequest) -> HttpResponse:
    return json_response(await request.registry.advisories.key())


async def signed_list(request: RegistryRequest) -> HttpResponse:
    return cacheable_response(await request.registry.advisories.signed_list(), content_type=b"application/json")


async def add(request: RegistryRequest) -> HttpResponse:
    row = await read_json(request, wire.AdvisoryRow)
    return json_response(await request.registry.advisories.add(request.caller, row), status=201)


async def withdraw(request: RegistryRequest) -> HttpResponse:
    return json_response(await request.registry.advisories.withdraw(request.caller, request.params["id"]))


ROUTES = (
    Route(
        method="GET",
        path="/.well-known/metier-advisories-key.json",
        endpoint=key,
        summary="The public key that signs the list of advisories.",
        response_type=wire.AdvisoryKeyRow,
    ),
    Route(
        method="GET",
        path="/advisories",
        endpoint=signed_list,
        summary="The list of advisories in a signed DSSE envelope.",
        response_type=wire.SignedEnvelope,
    ),
    Route(
        method="POST",
        path="/advisories",
        endpoint=add,
        summary="Add an advisory, and quarantine what it names.",
        body=wire.AdvisoryRow,
        response_type=wire.AdvisoryChange,
        rate="write",
        status=201,
        auth="admin",
    ),
    Route(
        method="DELETE",
        path="/advisories/{id}",
        endpoint=withdraw,
        summary="Withdraw an advisory.",
        response_type=wire.AdvisoryChange,
        rate="write",
        auth="admin",
    ),
)
