"""Reports that cannot bury one another, decisions that take effect, and an audit log that is complete."""

from __future__ import annotations

import asyncio
import getpass
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.registry import AbuseReport, AuditEvent
from metier.registry.location import RegistryLocation
from metier.registry.maintenance import create_token, list_tokens, revoke_token
from metier.registry.server.background_jobs import run_due_jobs
from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def report(here: Site, name: str = "pdf", *, token: str = "", **fields: str) -> Any:
    here.clock.move(seconds=60)
    return here.post(f"/skills/{name}/report", token=token, json={"reason": "spam", **fields})


def reports(here: Site, query: str = "") -> list[dict[str, Any]]:
    return list(here.get(f"/reports{query}", token=here.admin).json()["reports"])


def flood(here: Site, name: str, addresses: int) -> None:
    """Reports a package from many addresses."""

    async def send() -> None:
        package = await here.registry.store.find_package("skill", name)
        for number in range(addresses):
            event = AuditEvent(number, "anonymous", "report", f"skill:{name}", "", "", f"10.0.0.{number}")
            await here.registry.store.report(AbuseReport(reason="spam", reporter="anonymous"), package.id, event=event)

    here.call(send)


def test_a_report_counts_once_for_each_reporter_version_and_reason(here: Site) -> None:
    own = here.token("acme", "read")
    for version in ("1.0.0", "1.1.0"):
        here.publish("pdf", version, body=f"{version}\n")
    for _ in range(3):
        for token in ("", own):
            assert report(here, token=token, details="again").status_code == 201
        report(here, version="1.0.0")
        report(here, reason="malicious")
    found = [(row["reporter"], row["version"], row["reason"]) for row in reversed(reports(here))]
    assert found == [
        ("anonymous", "", "spam"), ("acme", "", "spam"), ("anonymous", "1.0.0", "spam"), ("anonymous", "", "malicious"),
    ]  # fmt: skip
    assert report(here, version="9.9.9").status_code == 404
    here.post(f"/reports/{reports(here)[-1]['id']}", token=here.admin, json={"state": "rejected"})
    report(here)
    assert len(reports(here)) == 4


def test_reports_of_one_address_are_limited_in_rate_and_number(here: Site) -> None:
    for number in range(30):
        here.publish(f"pdf-{number}", "1.0.0")
    rates = [here.post(f"/skills/pdf-{number}/report", json={"reason": "other"}).status_code for number in range(12)]
    assert rates == [201] * 10 + [429] * 2
    numbers = [report(here, f"pdf-{number}").status_code for number in range(30)]
    assert numbers == [201] * 15 + [409] * 15
    assert report(here, token=here.token("acme", "read"), name="pdf-29").status_code == 201


def test_reports_with_a_token_are_listed_apart_and_in_pages(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    report(here, token=here.token("acme", "read"), details="the real one")
    flood(here, "pdf", 120)
    assert [row["details"] for row in reports(here, "?anonymous=0")] == ["the real one"]
    seen, before = 0, ""
    while True:
        page = here.get(f"/reports?anonymous=1{before}", token=here.admin).json()
        seen += len(page["reports"])
        if page["next"] is None:
            break
        before = f"&before={page['next']}"
    assert seen == 120
    text = here.get("/admin", token=here.admin).text
    assert "the real one" in text and "Older reports" in text
    oldest = reports(here, "?anonymous=1&before=60")[0]["id"]
    assert f'value="{oldest}"' in here.get(f"/admin?anonymous={oldest + 1}", token=here.admin).text


@pytest.mark.parametrize("by", ["api", "page"])
def test_accepting_an_old_report_quarantines_its_package(here: Site, by: str) -> None:
    for name in ("pdf", "other"):
        here.publish(name, "1.0.0")
    report(here, reason="malicious", version="1.0.0")
    (old,) = reports(here)
    flood(here, "other", 60)
    if by == "api":
        here.post(f"/reports/{old['id']}", token=here.admin, json={"state": "accepted"})
    else:
        here.post("/admin/reports", token=here.admin, data={"report": str(old["id"]), "state": "accepted"})
    hidden = here.get("/skills/pdf")
    assert (hidden.status_code, hidden.json()["code"]) == (403, "quarantined")
    assert "malicious, version 1.0.0" in hidden.json()["detail"]
    assert here.get("/skills/other").status_code == 200


def test_every_entry_of_the_audit_log_has_token_and_address(here: Site) -> None:
    own = here.token("acme", "publish:acme", "tokens")
    here.publish("pdf", "1.0.0", token=own, query="visibility=private")
    here.publish("pdf", "1.1.0", token=own, query="visibility=public", body="x\n")
    report(here)
    events = here.get("/audit", token=here.admin).json()["events"]
    mine = [(line["action"], line["details"].split()[0]) for line in reversed(events) if line["actor"] == "acme"]
    assert mine == [("publish", "1.0.0"), ("visibility", "public"), ("publish", "1.1.0")]
    assert {(line["token"], line["address"]) for line in events if line["actor"] == "acme"} == {(own[:10], "testclient")}
    assert [(line["token"], line["address"]) for line in events if line["action"] == "report"] == [("", "testclient")]
    page = here.get("/admin", token=here.admin).text
    assert own[:10] in page and "testclient" in page and own not in page


def test_a_purge_is_dated_when_it_happens(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    here.send("DELETE", "/skills/pdf", token=here.admin)
    here.clock.move(days=31)
    here.call(here.registry.store.enqueue, "purge", "", due=0)
    here.call(run_due_jobs, here.registry)
    (line,) = (line for line in here.get("/audit", token=here.admin).json()["events"] if line["action"] == "purge")
    assert line["at"] == "2026-02-01T00:00:00Z"


def test_commands_of_the_shell_are_recorded_with_user_and_host(tmp_path: Path) -> None:
    with site(tmp_path):
        pass
    location = RegistryLocation(f"sqlite://{tmp_path}/registry.sqlite", f"file://{tmp_path}/blobs")
    asyncio.run(create_token(location, "acme", ("read",)))
    number = asyncio.run(list_tokens(location))[-1].id
    asyncio.run(revoke_token(location, number))
    with site(tmp_path) as here:
        lines = here.call(here.registry.store.events)
    actor = f"cli:{getpass.getuser()}@{socket.gethostname()}"
    assert [(event.actor, event.action) for _, event in lines[:2]] == [(actor, "token-revoke"), (actor, "token-create")]
