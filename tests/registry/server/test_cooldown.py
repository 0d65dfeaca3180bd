"""Cool-down and quarantine of single versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.registry import ReleasePolicy
from metier.registry.maintenance import delete_expired
from metier.registry.server.background_jobs import run_due_jobs
from registry.builders import ScriptedScanner, Site, site

DAY_MS = 86_400_000


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path, policy=ReleasePolicy(cooldown=DAY_MS)) as found:
        yield found


def test_a_fresh_version_is_listed_and_found_by_its_exact_version_only(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    shown = here.get("/skills/pdf").json()
    assert (shown["version"], shown["fresh"], shown["download_url"]) == ("", "1.0.0", "")
    assert [row["name"] for row in here.get("/skills").json()["skills"]] == ["pdf"], "it is listed"
    assert here.get("/.well-known/agent-skills/index.json").json()["skills"] == []
    assert here.get("/v2/admin/pdf/manifests/latest").status_code == 404
    assert here.get("/api/v1/skills/pdf").json()["latestVersion"] is None
    for path in ("/skills/pdf/download", "/skills/pdf/download?version=^1.0", "/api/v1/skills/pdf/install"):
        refused = here.get(path)
        assert (refused.status_code, "in its cool-down until 2026-01-02" in refused.text) == (404, True), path
    assert here.get("/skills/pdf/1.0.0.zip").status_code == 200
    assert here.get("/skills/pdf/download?version=1.0.0").status_code == 200
    page = here.get("/skill/pdf")
    assert (page.status_code, "in its cool-down until" in page.text) == (200, True)
    assert here.get("/skills/pdf/versions").json()["versions"][0]["available"] == "2026-01-02T00:00:00Z"


def test_after_its_cooldown_a_version_is_the_newest(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    here.clock.move(days=1)
    here.call(run_due_jobs, here.registry)
    here.publish("pdf", "1.1.0", description="Reads plums. Use when asked.")
    shown = here.get("/skills/pdf").json()
    assert (shown["version"], shown["fresh"]) == ("1.0.0", "1.1.0")
    assert here.get("/skills/pdf/versions/^1.0").json()["version"] == "1.0.0"
    here.clock.move(days=1)
    here.call(run_due_jobs, here.registry)
    shown = here.get("/skills/pdf").json()
    assert (shown["version"], shown["fresh"], shown["available"]) == ("1.1.0", "", "")
    assert [row["name"] for row in here.get("/skills?q=plums").json()["skills"]] == ["pdf"]


def test_a_quarantined_version_is_kept_but_not_served(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        here.publish("pdf", "1.1.0")
        path = "/skills/pdf/versions/1.1.0"
        assert here.send("PUT", f"{path}/quarantine", token=here.admin, json={"reason": "steals keys"}).status_code == 200
        assert here.get("/skills/pdf").json()["version"] == "1.0.0"
        for where in (path, "/skills/pdf/1.1.0.zip", "/skills/pdf/download?version=1.1.0"):
            refused = here.get(where)
            assert (refused.status_code, refused.json()["code"]) == (403, "quarantined"), where
        assert "steals keys" in here.get("/skill/pdf?version=1.1.0").text, "the reason is on the page of the version"
        assert "steals keys" in here.get("/admin", token=here.admin).text
        assert [row["comment"] for row in here.get("/quarantine", token=here.admin).json()["reviews"]] == ["steals keys"]
        assert here.send("DELETE", f"{path}/quarantine", token=here.admin).status_code == 200
        assert here.get("/skills/pdf").json()["version"] == "1.1.0"
        assert here.send("DELETE", path, token=here.admin).status_code == 404, "only a quarantined version is removed"
        here.send("PUT", f"{path}/quarantine", token=here.admin, json={"reason": "steals keys"})
        assert here.send("DELETE", path, token=here.admin).status_code == 200
        assert here.get(path).status_code == 404
        assert here.publish("pdf", "1.1.0", description="Other. Use when asked.").status_code == 409


def test_a_version_that_a_later_scan_blocks_is_quarantined(tmp_path: Path) -> None:
    verdict = tmp_path / "verdict"
    verdict.write_text("pass")
    with site(tmp_path, scanner=ScriptedScanner(str(verdict))) as here:
        here.publish("pdf", "1.0.0")
        verdict.write_text("block")
        here.post("/skills/pdf/versions/1.0.0/rescan", token=here.admin)
        here.call(run_due_jobs, here.registry)
        refused = here.get("/skills/pdf/versions/1.0.0")
        assert (refused.status_code, "the scan blocks it (SK999)" in refused.text) == (403, True)
        assert here.get("/skills").json()["skills"] == []


def test_old_drafts_and_yanked_prereleases_are_deleted(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        here.publish("pdf", "2.0.0-rc.1")
        here.publish("pdf", "2.0.0-rc.2")
        here.publish("pdf", "1.0.1+a-b")
        for version in ("2.0.0-rc.1", "1.0.1+a-b"):
            here.post(f"/skills/pdf/versions/{version}/yank", token=here.admin)
        here.publish("pdf", "3.0.0", query="draft=1")
        store, limits = here.registry.store, {"draft_days": 30, "prerelease_days": 90}
        assert here.call(delete_expired, store, now=here.clock(), **limits) == ()
        here.clock.move(days=40)
        assert here.call(delete_expired, store, now=here.clock(), draft_days=0, prerelease_days=0) == ()
        assert here.call(delete_expired, store, now=here.clock(), **limits, dry_run=True) == ("pdf@3.0.0",)
        assert here.call(delete_expired, store, now=here.clock(), **limits) == ("pdf@3.0.0",)
        here.clock.move(days=60)
        assert here.call(delete_expired, store, now=here.clock(), **limits) == ("pdf@2.0.0-rc.1",)
        listed = [row["version"] for row in here.get("/skills/pdf/versions").json()["versions"]]
        assert listed == ["2.0.0-rc.2", "1.0.1+a-b", "1.0.0"]
