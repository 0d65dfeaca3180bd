"""Discovery by clients that know only the address, and ClawHub's protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.archive import unpack
from metier.install.fetch.wellknown import check_digest, read_index
from registry.builders import Site, archive, site

INDEX = "/.well-known/agent-skills/index.json"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def test_the_index_is_what_our_own_installer_reads(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    url = f"http://registry.test{INDEX}"
    index = read_index(here.get(INDEX).content, url)
    assert index.warnings == ()
    (listed,) = index.skills
    assert (listed.name, listed.kind, listed.url) == ("pdf", "archive", "http://registry.test/skills/pdf/1.0.0.zip")
    check_digest(here.get("/skills/pdf/1.0.0.zip").content, listed)


def test_a_namespace_has_an_index_of_its_own(here: Site) -> None:
    here.publish("pdf", "1.0.0", query="namespace=acme&visibility=public")
    here.publish("other", "1.0.0")

    def names(path: str) -> list[str]:
        return [entry["name"] for entry in here.get(path).json()["skills"]]

    assert names(INDEX) == ["other", "pdf"]
    assert names(f"/acme{INDEX}") == ["pdf"]
    assert names(f"/unknown{INDEX}") == []


def test_a_read_token_in_the_address_opens_private_skills(here: Site) -> None:
    here.publish("secret", "1.0.0", query="namespace=acme")
    token = here.token("ci", "read:acme")
    assert here.get(INDEX).json()["skills"] == []
    (entry,) = here.get(f"/t/{token}{INDEX}").json()["skills"]
    data = here.get(entry["url"]).content
    assert "sha256:" + hashlib.sha256(data).hexdigest() == entry["digest"]
    assert here.get(f"/t/{token}/acme{INDEX}").json()["skills"] == [entry]
    assert here.get(f"/t/mtr_wrong{INDEX}").status_code == 401


def test_a_token_that_could_change_something_is_not_taken_in_an_address(here: Site) -> None:
    for scopes in (("admin",), ("publish:acme", "read")):
        token = here.token("acme", *scopes)
        assert here.get(f"/t/{token}{INDEX}").json()["code"] == "token-in-address"


def test_the_old_index_has_no_digests_and_is_off(here: Site, tmp_path: Path) -> None:
    here.publish("pdf", "1.0.0")
    assert here.get("/.well-known/skills/index.json").status_code == 404
    assert here.get("/.well-known/skills/pdf/SKILL.md").status_code == 404
    with site(tmp_path / "old", old_index=True) as old:
        old.publish("pdf", "1.0.0", files={"scripts/go.py": "1"})
        assert old.get("/.well-known/skills/index.json").json()["skills"][0]["files"] == ["SKILL.md", "scripts/go.py"]
        assert old.get("/.well-known/skills/pdf/scripts/go.py").text == "1"


def test_the_small_index_has_one_line_for_each_version(here: Site) -> None:
    for version in ("1.0.0", "1.1.0"):
        here.publish("pdf", version, body=f"{version}\n")
    lines = [json.loads(line) for line in here.get("/index/pdf.json").text.splitlines()]
    assert [(line["name"], line["version"], line["yanked"]) for line in lines] == [
        ("pdf", "1.0.0", False),
        ("pdf", "1.1.0", False),
    ]
    assert lines[1]["archive"] == here.get("/skills/pdf").json()["archive_digest"]
    assert here.get("/index/pdf").status_code == 404


def test_clawhub_searches_inspects_and_installs(here: Site) -> None:
    here.publish("pdf", "1.0.0", description="Reads PDF files.")
    assert here.get("/.well-known/clawhub.json").json()["apiBase"] == "http://registry.test"
    (hit,) = here.get("/api/v1/search?q=pdf").json()["results"]
    assert (hit["slug"], hit["version"], hit["summary"]) == ("pdf", "1.0.0", "Reads PDF files.")
    assert here.get("/api/v1/skills").json()["items"][0]["slug"] == "pdf"
    assert here.get("/api/v1/skills/pdf").json()["latestVersion"]["version"] == "1.0.0"
    data = here.get("/api/v1/download?slug=pdf&version=1.0.0").content
    files = unpack(data)
    lines = "\n".join(f"{m.path}:{hashlib.sha256(m.data).hexdigest()}" for m in files.members)
    found = here.get(f"/api/v1/resolve?slug=pdf&hash={hashlib.sha256(lines.encode()).hexdigest()}").json()
    assert found == {"match": {"version": "1.0.0"}, "latestVersion": {"version": "1.0.0"}}
    assert here.get("/api/v1/skills/pdf/file?path=SKILL.md").text.startswith("---\nname: pdf")
    assert here.get("/api/v1/whoami", token=here.admin).json()["user"]["handle"] == "admin"


def test_clawhub_is_answered_in_plain_text_when_something_is_wrong(here: Site) -> None:
    for path, status in (("/api/v1/skills/none", 404), ("/api/v1/whoami", 401), ("/api/v1/nothing", 404)):
        answer = here.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "text/plain; charset=utf-8")


def test_clawhub_publishes_file_by_file(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    text = unpack(archive("pdf")).read("SKILL.md", limit=9_999)
    name = hashlib.sha256(text).hexdigest()
    asked = here.post("/api/v1/skills/-/upload-url", token=own, json={"path": "SKILL.md", "size": len(text), "sha256": name})
    place = asked.json()["uploadUrl"]
    assert here.post(place, token=own, content=b"other").status_code == 400
    stored = here.post(place, token=own, content=text).json()["storageId"]
    file = {"path": "SKILL.md", "size": len(text), "storageId": stored, "sha256": name}
    query = {"slug": "pdf", "displayName": "PDF", "version": "1.2.3", "changelog": "", "files": [file]}
    assert here.post("/api/v1/skills", token=own, json={**query, "slug": "other"}).status_code == 400
    done = here.post("/api/v1/skills", token=own, json=query)
    assert (done.status_code, done.json()["publicationStatus"]) == (200, "published"), done.text
    assert here.get("/skills/pdf", token=own).json()["version"] == "1.2.3"
    assert here.post("/api/v1/skills/-/upload-url", json={}).status_code == 401
