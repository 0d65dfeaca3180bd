"""Draft, review, online: the way of an upload, and that clients see only what is online."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.registry import ReleasePolicy, ServerOptions, create_app
from registry.builders import Site, archive, site

SECRET = "zanzibar"
"""A word of the draft that requests search for."""
HIDDEN = "marzipan"
"""A word of the draft that no request says."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def decide(here: Site, action: str, token: str, *, name: str = "pdf", version: str = "2.0.0", comment: str = "") -> Any:
    path = f"/skills/{name}/versions/{version}/review"
    digest = here.get(path, token=here.admin).json()["review"]["digest"]
    return here.post(f"{path}/{action}", token=token, json={"digest": digest, "comment": comment})


def team(here: Site) -> tuple[str, str]:
    """A publisher and a reviewer of acme, which asks for reviews and has pdf 1.0.0 online."""
    ann, bob = here.token("ann", "publish:acme"), here.token("bob", "review:acme")
    assert here.publish("pdf", "1.0.0", token=ann, query="namespace=acme&visibility=public").json()["state"] == "online"
    assert here.send("PUT", "/namespaces/acme/settings", token=bob, json={"review": True}).json() == {"review": True}
    return ann, bob


def test_an_upload_waits_until_another_person_approves_it(here: Site) -> None:
    ann, bob = team(here)
    sent = here.publish(
        "pdf", "2.0.0", token=ann, query="namespace=acme", description=f"Reads {SECRET}. Use when asked."
    ).json()
    assert (sent["state"], sent["review"]) == ("review", "http://registry.test/review/pdf/2.0.0")
    assert here.get("/skills/pdf").json()["version"] == "1.0.0"
    listed = here.get("/reviews", token=bob).json()["reviews"]
    assert [(row["name"], row["version"], row["publisher"], row["current"]) for row in listed] == [
        ("pdf", "2.0.0", "ann", "1.0.0")
    ]
    assert decide(here, "approve", bob, comment="fine").json() == {"state": "online"}
    here.clock.move(seconds=5)
    assert here.get("/skills/pdf").json()["version"] == "2.0.0"
    assert [row["name"] for row in here.get(f"/skills?q={SECRET}").json()["skills"]] == ["pdf"]
    events = here.get("/audit?subject=skill:pdf", token=here.admin).json()["events"]
    assert [(event["actor"], event["action"]) for event in events][:2] == [("bob", "approve"), ("ann", "upload")]
    assert events[0]["details"].startswith("2.0.0 sha256:")
    assert events[0]["details"].endswith(" fine")


def test_publishers_cannot_approve_their_own_uploads(here: Site) -> None:
    _, bob = team(here)
    both = here.token("carol", "publish:acme", "review:acme")
    here.publish("pdf", "2.0.0", token=both, query="namespace=acme")
    refused = decide(here, "approve", both)
    assert (refused.status_code, refused.json()["code"]) == (403, "own-upload")
    assert decide(here, "approve", bob).status_code == 200
    here.publish("pdf", "3.0.0", query="namespace=acme")
    assert decide(here, "approve", here.admin, version="3.0.0").status_code == 403, "also the administrator"


def test_a_setting_lets_reviewers_approve_their_own_uploads(tmp_path: Path) -> None:
    with site(tmp_path, policy=ReleasePolicy(review=True, self_review=True)) as here:
        both = here.token("carol", "publish:acme", "review:acme")
        assert here.publish("pdf", "2.0.0", token=both, query="namespace=acme").json()["state"] == "review"
        assert here.get("/namespaces/acme/settings", token=both).json() == {"review": True}
        assert decide(here, "approve", both).status_code == 200


def test_a_returned_version_is_uploaded_again_under_its_number(here: Site) -> None:
    ann, bob = team(here)
    here.publish("pdf", "2.0.0", token=ann, query="namespace=acme", description="First. Use when asked.")
    old = here.get("/skills/pdf/versions/2.0.0/review", token=bob).json()["review"]["digest"]
    assert decide(here, "return", bob).status_code == 400, "a comment is needed"
    assert decide(here, "return", bob, comment="pin the package").json() == {"state": "draft"}
    row = here.get("/reviews", token=ann).json()["reviews"][0]
    assert (row["state"], row["comment"]) == ("draft", "pin the package")
    again = here.publish("pdf", "2.0.0", token=ann, query="namespace=acme", description="Second. Use when asked.")
    assert (again.status_code, again.json()["state"]) == (201, "review")
    stale = here.post("/skills/pdf/versions/2.0.0/review/approve", token=bob, json={"digest": old})
    assert (stale.status_code, "has changed" in stale.json()["detail"]) == (409, True), "the reviewer read other files"
    assert decide(here, "approve", bob).status_code == 200
    other = here.publish("pdf", "2.0.0", token=ann, query="namespace=acme", description="Third. Use when asked.")
    assert other.status_code == 409, "a version that is online never changes"


def test_a_draft_is_submitted_or_withdrawn(here: Site) -> None:
    ann = here.token("ann", "publish:acme")
    assert here.publish("pdf", "1.0.0", token=ann, query="namespace=acme&draft=1").json()["state"] == "draft"
    assert here.post("/skills/pdf/versions/1.0.0/review/submit", token=ann).json() == {"state": "online"}
    assert here.get("/skills/pdf", token=ann).json()["version"] == "1.0.0"
    here.publish("pdf", "2.0.0", token=ann, query="namespace=acme&draft=1")
    assert here.send("DELETE", "/skills/pdf/versions/2.0.0/review", token=ann).status_code == 200
    assert here.get("/reviews", token=ann).json()["reviews"] == []
    here.publish("docx", "1.0.0", token=ann, query="namespace=acme&draft=1")
    here.send("DELETE", "/skills/docx/versions/1.0.0/review", token=ann)
    other = here.publish("docx", "1.0.0", token=here.token("eve", "publish:eve"), query="namespace=eve")
    assert other.status_code == 201, "the name is free again"


def test_publishers_cannot_switch_reviews_off(here: Site) -> None:
    ann, _ = team(here)
    assert here.send("PUT", "/namespaces/acme/settings", token=ann, json={"review": False}).status_code == 403
    assert here.get("/namespaces/acme/settings", token=ann).json() == {"review": True}


def test_a_reviewer_sees_lint_scan_capabilities_and_changes(here: Site) -> None:
    ann, bob = team(here)
    files = {"scripts/run.sh": "curl https://files.tidal-works.io/data\n"}
    here.publish("pdf", "2.0.0", token=ann, query="namespace=acme", body="# PDF\n", files=files)
    shown = here.get("/skills/pdf/versions/2.0.0/review", token=bob).json()
    assert shown["changed_files"] == ["SKILL.md", "scripts/run.sh"]
    assert any("files.tidal-works.io" in line for line in shown["new_capabilities"])
    assert [step["action"] for step in shown["history"]] == ["upload"]
    page = here.get("/review/pdf/2.0.0", token=bob).text
    assert "Changes since 1.0.0" in page
    assert "files.tidal-works.io" in page
    assert ">Approve<" in page
    own = here.get("/review/pdf/2.0.0", token=ann).text
    assert ">Approve<" not in own
    assert ">Withdraw<" in own
    archive_of = here.get("/skills/pdf/versions/2.0.0/review/archive", token=bob)
    assert archive_of.content[:2] == b"PK"


def test_a_signature_may_come_before_the_review(here: Site) -> None:
    from metier.registry import key_id, new_signing_key, release_statement, sign_statement

    ann, bob = team(here)
    private, public = new_signing_key()
    here.post("/namespaces/acme/keys", token=ann, json={"public": public})
    digest = here.publish("pdf", "2.0.0", token=ann, query="namespace=acme").json()["digest"]
    stated = release_statement(kind="skill", name="pdf", version="2.0.0", digest=digest)
    body = {"keyid": key_id(public), "signature": sign_statement(private, stated)}
    assert here.send("PUT", "/skills/pdf/versions/2.0.0/signature", token=ann, json=body).status_code == 200
    decide(here, "approve", bob)
    assert here.get("/skills/pdf").json()["signed_by"] == "acme"


def test_clients_of_clawhub_hear_that_their_upload_waits(here: Site) -> None:
    import hashlib

    from metier.archive import unpack

    ann, _ = team(here)
    text = unpack(archive("pdf")).read("SKILL.md", limit=9_999)
    file = {"path": "SKILL.md", "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    ticket = here.post("/api/v1/skills/-/upload-url", token=ann, json=file).json()["uploadTicket"]
    here.post(f"/api/v1/uploads/{ticket}", token=ann, content=text)
    body = {"slug": "pdf", "version": "2.0.0", "ownerHandle": "acme", "files": [{**file, "storageId": ticket}]}
    assert here.post("/api/v1/skills", token=ann, json=body).json()["publicationStatus"] == "pending"


MEMBERS = {
    "/reviews", "/review", "/review/{name}/{version}", "/skills/{name}/versions/{version}/review",
    "/agents/{name}/versions/{version}/review", "/skills/{name}/versions/{version}/review/archive",
    "/agents/{name}/versions/{version}/review/archive",
}  # fmt: skip
"""The only routes that show a draft, to the members of its namespace."""


def walk(here: Site, name: str, version: str, token: str) -> Iterator[tuple[str, Any]]:
    """Reads every route with the name and version of a draft."""
    app = create_app(ServerOptions(db="sqlite:///unused", blobs="file:///unused"))
    values = {
        "name": name, "slug": name, "version": version, "namespace": "acme", "archive": f"{version}.zip",
        "file": f"{name}.json", "path": "SKILL.md", "reference": version, "token": token or "x", "code": "x",
        "digest": "sha256:" + "0" * 64, "id": "1",
    }  # fmt: skip
    exact = f"?version={version}&q={SECRET}&slug={name}&from={version}&to={version}&path=SKILL.md"
    for route in app.routes.all:
        if route.method == "GET" and route.path not in ("/login/sso", "/login/callback"):
            path = re.sub(r"\{(\w+)(\.\.\.)?\}", lambda found: values[found[1]], route.path)
            for query in ("", exact, f"?version=*&slug={name}&path=SKILL.md"):
                yield route.path, here.get(f"{path}{query}", token="" if "{token}" in route.path else token)


def test_no_route_shows_a_draft(here: Site) -> None:
    ann = here.token("ann", "publish:acme")
    here.publish("reed", "1.0.0", token=ann, query="namespace=acme&visibility=public", description="Old. Use when asked.")
    about, query = f"Reads {HIDDEN}. Use when asked for {SECRET}.", "namespace=acme&visibility=public&draft=1"
    secrets = [HIDDEN]
    for name in ("reed", "quillwort"):
        sent = here.publish(name, "7.8.9", token=ann, query=query, description=about, body=f"# {HIDDEN} {name}\n").json()
        secrets += [sent["digest"][7:], sent["archive_digest"][7:]]
    shown_to_members = set()
    for token in ("", here.token("reader", "read", "publish:eve", "review:eve"), ann, here.admin):
        for name in ("reed", "quillwort") if token != here.admin else ("quillwort",):
            for path, answer in walk(here, name, "7.8.9", token):
                if path in ("/audit", "/admin") and token == here.admin:
                    continue
                text = answer.text + str(answer.headers)
                names = () if "quillwort" in str(answer.request.url) else ("quillwort",)
                shown = [word for word in (*secrets, *names) if word in text]
                if path in MEMBERS and token in (ann, here.admin):
                    shown_to_members |= {path} if shown else set()
                else:
                    assert not shown, (path, str(answer.request.url), shown, text[:800])
    assert shown_to_members == {path for path in MEMBERS if not path.startswith("/agents") and not path.endswith("archive")}
    listed = [row["name"] for row in here.get("/.well-known/agent-skills/index.json", token=ann).json()["skills"]]
    assert listed == ["reed"]
    assert here.get("/stats", token=ann).json()["releases"] == 1
