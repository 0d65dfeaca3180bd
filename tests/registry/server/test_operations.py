"""Metrics need a token, every request has an id, and the logs name it."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from metier.registry.server.metrics import Metrics
from metier.registry.server.request_log import (
    REQUEST_ID,
    JsonFormatter,
    LoggedRequest,
    TextFormatter,
    logging_config,
    new_request_id,
)
from registry.asgi import RawRequest, send_raw
from registry.builders import Site, site


def test_metrics_need_the_scope_metrics(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        assert here.get("/metrics").status_code == 401
        assert here.get("/metrics", token=here.token("ann", "read")).status_code == 403
        monitor = here.get("/metrics", token=here.token("prometheus", "metrics"))
        assert monitor.status_code == 200
        assert 'metier_requests_total{worker="' in monitor.text
        assert here.get("/metrics", token=here.admin).status_code == 200


def test_a_token_for_metrics_reads_and_changes_nothing_else(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        token = here.token("prometheus", "metrics")
        assert here.get("/audit", token=token).status_code == 403
        assert here.post("/tokens", token=token, json={"holder": "prometheus", "scopes": ["read"]}).status_code == 403


def test_an_administrator_can_publish_the_metrics(tmp_path: Path) -> None:
    with site(tmp_path, public_metrics=True) as here:
        assert here.get("/metrics").status_code == 200


def test_one_worker_answers_for_all_workers_of_its_server(tmp_path: Path) -> None:
    other = Metrics(str(tmp_path))
    other.request("GET", "/skills/{name}", 200, 0.002)
    other.save()
    # The file of a worker that has ended stays behind and is not counted.
    (tmp_path / str(os.getpid())).rename(tmp_path / str(os.getppid()))
    (tmp_path / "999999999").write_bytes((tmp_path / str(os.getppid())).read_bytes())
    mine = Metrics(str(tmp_path))
    mine.request("GET", "/search", 200, 0.02)
    text = mine.text()
    assert text.count("# TYPE metier_requests_total counter") == 1
    assert 'route="/search",status="200"} 1' in text
    assert text.count('route="/skills/{name}",status="200"} 1') == 1


def test_every_response_has_an_id(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        responses = [here.get(path) for path in ("/healthz", "/skills/none", "/logout", "/")]
        ids = [response.headers["x-request-id"] for response in responses]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("peer", "stated", "kept"), [
    ("10.0.0.1", "abc-123", True), ("10.0.0.2", "abc-123", False), ("10.0.0.1", 'x" y', False), ("10.0.0.1", "a" * 65, False),
])  # fmt: skip
def test_only_the_id_of_a_trusted_proxy_is_kept(tmp_path: Path, peer: str, stated: str, kept: bool) -> None:
    with site(tmp_path, trust_proxy=("10.0.0.1",)) as here:
        answer = here.call(send_raw, here.app, RawRequest("GET", "/healthz", "", [("x-request-id", stated)], client=peer))
        assert (answer.headers["x-request-id"] == stated) is kept


def test_an_internal_error_names_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(tmp_path) as here:
        monkeypatch.setattr(type(here.registry), "ping", _fail)
        response = here.get("/readyz")
        assert response.status_code == 500
        assert f"request {response.headers['x-request-id']} failed" in response.json()["hint"]


async def _fail(_registry: Site) -> None:
    raise RuntimeError("planted")


@pytest.fixture
def request_record() -> logging.LogRecord:
    record = logging.LogRecord("metier.registry.requests", logging.INFO, "", 0, "request", (), None)
    record.created = 1_767_225_600.25
    record.request = LoggedRequest(
        method="GET", path="/skills/pdf", status=200, seconds=0.0042, client="203.0.113.9", holder="ann"
    )
    return record


def test_a_request_is_one_json_object(request_record: logging.LogRecord) -> None:
    REQUEST_ID.set("f00")
    assert json.loads(JsonFormatter().format(request_record)) == {
        "time": "2026-01-01T00:00:00.250Z", "level": "info", "request_id": "f00", "method": "GET", "path": "/skills/pdf",
        "status": 200, "ms": 4.2, "client": "203.0.113.9", "holder": "ann",
    }  # fmt: skip


def test_a_request_is_one_line_of_text(request_record: logging.LogRecord) -> None:
    REQUEST_ID.set("f00")
    said = TextFormatter().format(request_record)
    assert said == "2026-01-01T00:00:00.250Z GET /skills/pdf 200 4.2 ms 203.0.113.9 ann [f00]"


def test_an_error_has_its_traceback_and_its_request() -> None:
    REQUEST_ID.set("f00")
    try:
        raise RuntimeError("planted")
    except RuntimeError as error:
        record = logging.LogRecord("metier.registry", logging.ERROR, "", 0, "%s failed", ("x",), (type(error), error, None))
    line = json.loads(JsonFormatter().format(record))
    assert (line["request_id"], line["message"]) == ("f00", "x failed")
    assert "RuntimeError: planted" in line["error"]


def test_requests_are_logged_only_if_asked_for() -> None:
    levels = {
        style: logging_config(style)["loggers"]["metier.registry.requests"]["level"] for style in ("errors", "text", "json")
    }
    assert levels == {"errors": "WARNING", "text": "INFO", "json": "INFO"}


def test_new_ids_differ() -> None:
    assert new_request_id() != new_request_id()
