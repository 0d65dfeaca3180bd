"""Actions of owners and moderators, refused to all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def test_a_yanked_version_is_found_only_by_exact_version(here: Site) -> None:
    for version in ("1.0.0", "1.1.0"):
        here.publish("pdf", version, body=f"{version}\n")
    done = here.post("/skills/pdf/versions/1.1.0/yank", token=here.admin, json={"reason": "eats files"})
    assert done.json() == {"ok": True, "changed": True}
    assert here.get("/skills/pdf").json()["version"] == "1.0.0"
    assert "pdf-1.0.0" in here.get("/skills/pdf/download?version=^1.0").headers["content-disposition"]
    assert here.get("/skills/pdf/1.1.0.zip").status_code == 200
    row = here.get("/skills/pdf/versions/1.1.0").json()
    assert (row["yanked"], row["yank_reason"]) == (True, "eats files")
    assert '"yanked":true,"reason":"eats files"' in here.get("/index/pdf.json").text
    assert here.post("/skills/pdf/versions/1.1.0/unyank", token=here.admin).json()["changed"]
    assert here.get("/skills/pdf").json()["version"] == "1.1.0"
    assert not here.post("/skills/pdf/versions/1.1.0/unyank", token=here.admin).json()["changed"]


def test_when_every_version_is_yanked_none_is_found_without_its_number(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    here.post("/skills/pdf/versions/1.0.0/yank", token=here.admin)
    assert here.get("/skills").json()["skills"] == []
    assert here.get("/skills/pdf/download").status_code == 404
    assert here.get("/skills/pdf/1.0.0.zip").status_code == 200


def test_a_deleted_package_can_be_restored_while_its_name_is_reserved(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("evil", "publish:evil")
    here.publish("pdf", "1.0.0", token=own)
    assert here.send("DELETE", "/skills/pdf", token=other).status_code == 403
    assert here.send("DELETE", "/skills/pdf", token=own, json={"reason": "leak"}).status_code == 200
    assert here.get("/skills/pdf").status_code == 404
    assert here.get("/skills/pdf/1.0.0.zip").status_code == 404
    assert here.publish("pdf", "2.0.0", token=other).status_code == 403
    assert here.publish("pdf", "2.0.0", token=own).status_code == 409
    assert here.post("/skills/pdf/undelete", token=other).status_code == 404
    assert here.post("/skills/pdf/undelete", token=own).status_code == 200
    assert here.get("/skills/pdf/1.0.0.zip").status_code == 200


def test_after_thirty_days_a_deleted_package_is_purged_and_its_name_stays_reserved(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("other", "publish:other")
    here.publish("pdf", "1.0.0", token=own)
    here.send("DELETE", "/skills/pdf", token=own)
    from metier.registry.server.background_jobs import run_due_jobs

    here.clock.move(days=29)
    here.call(here.registry.store.enqueue, "purge", "", due=0)
    here.call(run_due_jobs, here.registry)
    assert here.publish("pdf", "1.0.0", token=other).status_code == 403
    here.clock.move(days=2)
    here.call(run_due_jobs, here.registry)
    assert here.post("/skills/pdf/undelete", token=own).status_code == 404
    assert here.publish("pdf", "1.0.0", token=other).status_code == 403
    assert here.publish("pdf", "1.0.0", token=own, body="Other.\n").status_code == 409
    assert here.publish("pdf", "1.0.0", token=own).status_code == 201


def test_an_administrator_may_publish_a_purged_name(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=own)
    here.send("DELETE", "/skills/pdf", token=own)
    here.call(here.registry.store.purge, before=here.clock() + 1, at=here.clock() + 1)
    assert here.publish("pdf", "1.0.0", body="Other.\n").status_code == 409
    assert here.publish("pdf", "1.0.1", body="Other.\n").status_code == 201


def test_deleting_a_skill_does_not_evade_its_quarantine(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=own)
    here.send("DELETE", "/skills/pdf", token=own)
    assert here.send("PUT", "/skills/pdf/quarantine", token=here.admin, json={"reason": "steals keys"}).status_code == 200
    assert here.post("/skills/pdf/undelete", token=own).status_code == 404
    assert here.get("/skills/pdf/1.0.0.zip", token=own).status_code == 403
    assert here.get("/skills/pdf/1.0.0.zip", token=here.admin).status_code == 200
    here.send("DELETE", "/skills/pdf/quarantine", token=here.admin)
    assert here.get("/skills/pdf", token=own).status_code == 404
    assert here.post("/skills/pdf/undelete", token=own).status_code == 200
    assert here.send("DELETE", "/skills/pdf/quarantine", token=here.admin).status_code == 404


def test_an_administrator_who_deletes_a_quarantined_skill_does_not_end_its_quarantine(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=own)
    here.send("PUT", "/skills/pdf/quarantine", token=here.admin, json={"reason": "steals keys"})
    assert here.send("DELETE", "/skills/pdf", token=own).status_code == 403
    assert here.send("DELETE", "/skills/pdf", token=here.admin).status_code == 200
    assert here.post("/skills/pdf/undelete", token=own).status_code == 404
    assert here.get("/skills/pdf", token=here.admin).json()["status"] == "quarantined"


def test_tags_move_between_versions(here: Site) -> None:
    for version in ("1.0.0", "2.0.0"):
        here.publish("pdf", version, body=f"{version}\n")
    assert here.send("PUT", "/skills/pdf/tags/beta", token=here.admin, json={"version": "1.0.0"}).status_code == 200
    assert "pdf-1.0.0" in here.get("/skills/pdf/download?version=beta").headers["content-disposition"]
    assert here.get("/skills/pdf/versions").json()["tags"] == {"latest": "2.0.0", "beta": "1.0.0"}
    assert here.send("PUT", "/skills/pdf/tags/beta", token=here.admin, json={"version": "9.0.0"}).status_code == 404
    assert here.send("PUT", "/skills/pdf/tags/latest", token=here.admin, json={"version": "1.0.0"}).status_code == 400
    here.send("DELETE", "/skills/pdf/tags/beta", token=here.admin)
    assert here.get("/skills/pdf/download?version=beta").status_code == 404


def test_owners_are_added_and_a_skill_is_handed_on_only_if_it_is_accepted(here: Site) -> None:
    own, second, third = (here.token(name, f"publish:{name}") for name in ("acme", "second", "third"))
    here.publish("pdf", "1.0.0", token=own)
    assert here.publish("pdf", "1.1.0", token=second).status_code == 403
    assert here.send("PUT", "/skills/pdf/owners/second", token=second).status_code == 403
    assert here.send("PUT", "/skills/pdf/owners/second", token=own).json() == {"owners": ["acme", "second"]}
    assert here.publish("pdf", "1.1.0", token=second).status_code == 201
    assert here.post("/skills/pdf/transfer/accept", token=third).status_code == 404
    here.post("/skills/pdf/transfer", token=own, json={"to": "third"})
    assert here.get("/skills/pdf").json()["owner"] == "acme"
    assert here.post("/skills/pdf/transfer/accept", token=second).status_code == 404
    assert here.post("/skills/pdf/transfer/accept", token=third).status_code == 200
    assert here.get("/skills/pdf/owners").json() == {"owners": ["third"]}
    assert here.publish("pdf", "1.2.0", token=own).status_code == 403
    assert here.send("DELETE", "/skills/pdf/owners/third", token=third).status_code == 409


def test_a_report_is_decided_by_an_administrator(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    assert here.post("/skills/pdf/report", json={"reason": "nonsense"}).status_code == 400
    assert here.post("/skills/pdf/report", json={"reason": "malicious", "details": "see line 3"}).status_code == 201
    assert here.get("/reports").status_code == 401
    (report,) = here.get("/reports", token=here.admin).json()["reports"]
    assert (report["name"], report["reason"], report["details"], report["reporter"]) == (
        "pdf",
        "malicious",
        "see line 3",
        "anonymous",
    )
    assert here.post(f"/reports/{report['id']}", token=here.admin, json={"state": "accepted"}).status_code == 200
    assert here.post(f"/reports/{report['id']}", token=here.admin, json={"state": "accepted"}).status_code == 404
    assert here.get("/reports", token=here.admin).json()["reports"] == []


def test_quarantine_hides_a_skill_and_says_so(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=own)
    assert here.send("PUT", "/skills/pdf/quarantine", token=own, json={"reason": "x"}).status_code == 403
    here.send("PUT", "/skills/pdf/quarantine", token=here.admin, json={"reason": "steals keys"})
    for path in ("/skills/pdf", "/skills/pdf/download", "/skills/pdf/1.0.0.zip"):
        answer = here.get(path, token=own)
        assert (answer.status_code, answer.json()["code"]) == (403, "quarantined")
        assert "steals keys" in answer.json()["detail"]
    assert here.get("/skills?q=pdf").json()["skills"] == []
    assert here.get("/skills/pdf", token=here.admin).json()["status"] == "quarantined"
    here.send("DELETE", "/skills/pdf/quarantine", token=here.admin)
    assert here.get("/skills/pdf").status_code == 200


def test_a_deprecated_skill_is_still_found_and_says_why(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    here.send("PUT", "/skills/pdf/status", token=here.admin, json={"status": "deprecated", "reason": "use pdf2"})
    (found,) = here.get("/skills?q=pdf").json()["skills"]
    assert (found["status"], found["reason"]) == ("deprecated", "use pdf2")
    assert here.send("PUT", "/skills/pdf/status", token=here.admin, json={"status": "quarantined"}).status_code == 400


def test_every_change_is_in_the_audit_log_with_its_actor(here: Site) -> None:
    own = here.token("acme", "publish:acme", "yank")
    here.publish("pdf", "1.0.0", token=own)
    here.post("/skills/pdf/versions/1.0.0/yank", token=own, json={"reason": "r"})
    here.post("/skills/pdf/versions/1.0.0/unyank", token=own)
    here.send("PUT", "/skills/pdf/visibility", token=own, json={"visibility": "private"})
    here.send("PUT", "/skills/pdf/tags/beta", token=own, json={"version": "1.0.0"})
    here.send("PUT", "/skills/pdf/owners/second", token=own)
    here.post("/skills/pdf/transfer", token=own, json={"to": "third"})
    here.post("/skills/pdf/versions/1.0.0/rescan", token=own)
    here.send("DELETE", "/skills/pdf", token=own)
    here.post("/skills/pdf/undelete", token=own)
    assert here.get("/audit", token=own).status_code == 403
    lines = here.get("/audit?subject=skill:pdf", token=here.admin).json()["events"]
    assert [line["action"] for line in reversed(lines)] == [
        "publish", "yank", "unyank", "visibility", "tag", "owner-add", "transfer-offer", "rescan", "delete", "undelete",
    ]  # fmt: skip
    assert {line["actor"] for line in lines} == {"acme"}
    every = here.get("/audit", token=here.admin).json()["events"]
    assert [line["action"] for line in every[-3:]] == ["token-create", "token-create", "advisory-key"]


def test_the_audit_log_cannot_be_rewritten(here: Site, tmp_path: Path) -> None:
    import sqlite3

    here.publish("pdf", "1.0.0")
    with sqlite3.connect(tmp_path / "registry.sqlite") as database:
        for statement in ("delete from audit", "update audit set actor = 'other'"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(statement)
    database.close()
