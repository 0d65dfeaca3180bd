"""The OpenAPI description, generated from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from metier import __version__
from metier.registry.wire import ProblemDetails

from .routing import Route

__all__ = ["describe"]

_PARAMETER = re.compile(r"\{(\w+)(?:\.\.\.)?\}")
_FORM = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}, "required": ["file"]}
_BINARY = {"schema": {"type": "string", "format": "binary"}}


def describe(routes: Iterable[Route]) -> dict[str, Any]:  # Any: JSON
    """Returns OpenAPI 3.1 for every route that is not a page."""
    listed = [route for route in routes if route.kind != "page"]
    types = [kind for route in listed for kind in (route.response_type, route.body) if kind not in (None, bytes, str)]
    schemas, components = msgspec.json.schema_components([*types, ProblemDetails], ref_template="#/components/schemas/{name}")
    known = dict(zip(map(repr, [*types, ProblemDetails]), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        paths.setdefault(_PARAMETER.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, known)
    return {
        "openapi": "3.1.0",
        "info": {"title": "metier registry", "version": __version__,
                 "description": "Publish, search and fetch skills and agents."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "A token: mtr_…"}},
        },
    }  # fmt: skip


def _operation(route: Route, known: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", f"{route.method} {route.path}").strip("_").lower(),
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in _PARAMETER.findall(route.path)
            ),
            *(
                {"name": each.name, "in": "query", "description": each.description, "schema": each.schema}
                for each in route.query
            ),
        ],
        "responses": _responses(route, known),
        "security": [{"token": []}] if route.auth else [{}, {"token": []}],
    }
    if route.auth:
        operation["description"] = f"Requires a token with the scope: {route.auth}."
    if route.body is bytes:
        kinds = ("application/zip", "application/gzip", "application/octet-stream")
        content = {**dict.fromkeys(kinds, _BINARY), "multipart/form-data": {"schema": _FORM}}
        operation["requestBody"] = {"required": True, "content": content}
    elif route.body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": known[repr(route.body)]}}}
    return operation


def _responses(route: Route, known: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    if route.response_type is bytes:
        content: dict[str, Any] = {"*/*": _BINARY}
    elif route.response_type is str or route.response_type is None:
        content = {"*/*": {"schema": {"type": "string"}}}
    else:
        content = {"application/json": {"schema": known[repr(route.response_type)]}}
    good: dict[str, Any] = {str(route.status): {"description": "Success", "content": content}}
    if route.method == "POST" and route.body is bytes and route.status == 201:
        good["200"] = {"description": "Already published, or a dry run", "content": content}
    if route.response_type is bytes and route.method == "GET":
        good["302"] = {"description": "Redirect to the object store"}
    if route.kind == "plain":
        problem: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
    else:
        problem = {"application/problem+json": {"schema": known[repr(ProblemDetails)]}}
    return {**good, "304": {"description": "Not modified"}, "4XX": {"description": "Client error", "content": problem},
            "503": {"description": "Temporarily unavailable; see Retry-After", "content": problem}}  # fmt: skip
