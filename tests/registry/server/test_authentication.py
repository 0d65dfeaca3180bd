"""Credentials do not reach the log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from metier.registry.server.authentication import redacted_path
from registry.builders import site


def test_a_token_in_the_address_is_not_logged_when_something_fails(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        token = here.token("acme", "read")
        here.app.registry = None if here.registry is None else _Broken(here.registry)  # type: ignore[assignment]
        with caplog.at_level(logging.DEBUG):
            answer = here.get(f"/t/{token}/.well-known/agent-skills/index.json")
        here.app.registry = here.app.registry.whole  # type: ignore[union-attr]
    assert answer.status_code == 500
    logged = "\n".join(record.getMessage() for record in caplog.records if record.name == "metier.registry")
    assert "/t/***/.well-known/agent-skills/index.json" in logged
    assert token not in caplog.text.replace(str(answer.request.url), "")


class _Broken:
    """A registry whose queries fail in an unexpected way."""

    def __init__(self, whole: object) -> None:
        self.whole = whole

    def __getattr__(self, name: str) -> object:
        if name == "queries":
            raise RuntimeError("out of order")
        return getattr(self.whole, name)


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/skills/pdf", "/skills/pdf"),
        ("/t/mtr_abc/skills/pdf/1.zip", "/t/***/skills/pdf/1.zip"),
        ("/t/half", "/t/***"),
        ("/t/", "/t/***"),
        ("/x/mtr_abc/y", "/x/mtr_***/y"),
        ("//t/mtr_abc", "//t/mtr_***"),
    ],
)
def test_a_path_is_logged_without_the_token(path: str, logged: str) -> None:
    assert redacted_path(path) == logged
