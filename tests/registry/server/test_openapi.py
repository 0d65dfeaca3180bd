"""The description of the API says what the API does: tried by a program that reads nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from metier.registry import ServerOptions, create_app
from metier.registry.server.openapi import describe
from registry.builders import archive, site
from registry.server_process import ServerProcess, serve

ROUTES = create_app(ServerOptions(db="sqlite:///unused", blobs="file:///unused")).routes.all
SCHEMA = schemathesis.openapi.from_dict(describe(ROUTES))
EXAMPLES = 60 if os.environ.get("METIER_FULL") else 2


def test_every_route_is_described_once_and_says_what_it_is_for() -> None:
    described = describe(ROUTES)
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert len(operations) == len([route for route in ROUTES if route.kind != "page"])
    assert all(operation["summary"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serve(tmp_path_factory.mktemp("api"), METIER_REGISTRY_RATE_LIMITS="false") as found:
        found.publish(archive("pdf", "1.0.0"))
        yield found


@SCHEMA.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_whatever_is_asked_is_answered_as_described(case: schemathesis.Case[Any], server: ServerProcess) -> None:
    response = case.call(base_url=server.url, headers={"authorization": f"Bearer {server.token}"})
    case.validate_response(response, checks=[not_a_server_error, status_code_conformance, response_schema_conformance])


def test_the_description_is_made_once_and_revalidated_by_its_tag(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        first, second = (here.get("/openapi.json") for _ in range(2))
        assert first.content == second.content == here.app.openapi
        assert here.app.openapi is here.app.openapi
        assert here.get("/openapi.json", headers={"if-none-match": first.headers["etag"]}).status_code == 304
