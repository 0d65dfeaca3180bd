"""Logins in the audit log: every good one, and the bad ones without filling it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.registry.domain.access import UnauthenticatedError
from metier.registry.domain.tokens import new_token_text
from registry.builders import Site, site

OURS = {"origin": "http://registry.test"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def lines(here: Site, action: str) -> list[dict[str, Any]]:
    events = here.get("/audit", token=here.admin).json()["events"]
    return [line for line in reversed(events) if line["action"] == action]


def test_a_failed_login_is_recorded_once_an_hour_with_prefix_and_address(here: Site) -> None:
    bad = new_token_text()
    for _ in range(3):
        assert here.get("/skills", token=bad).status_code == 401
    assert here.post("/login", data={"token": "nonsense"}, headers=OURS).status_code == 401
    found = [(line["details"], line["token"], line["address"]) for line in lines(here, "login-failed")]
    assert found == [("unknown token", bad[:10], "testclient"), ("unknown token", "", "testclient")]
    assert bad not in here.get("/audit", token=here.admin).text
    here.clock.move(seconds=3_600)
    here.get("/skills", token=bad)
    assert len(lines(here, "login-failed")) == 3


def test_many_failures_do_not_fill_the_log(here: Site) -> None:
    async def fail(times: int) -> None:
        for number in range(times):
            error = UnauthenticatedError("unknown token", hint="")
            await here.registry.failed_logins.record(new_token_text(), address=f"10.0.0.{number}", error=error)

    before = len(here.call(here.registry.store.events, limit=9_999))
    here.call(fail, 1_000)
    assert len(here.call(here.registry.store.events, limit=9_999)) - before == 201


def test_logins_and_logouts_are_recorded(here: Site) -> None:
    here.post("/login", data={"token": here.admin}, headers=OURS, follow_redirects=False)
    here.post("/logout", headers=OURS, follow_redirects=False)
    for action in ("login", "logout"):
        (line,) = lines(here, action)
        assert (line["actor"], line["token"], line["address"]) == ("admin", here.admin[:10], "testclient")
