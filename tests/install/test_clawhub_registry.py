"""Searching and publishing in a ClawHub registry: one in the shape of the public one, and metier's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text, write_skill
from install.clawhub_site import ClawHubSite
from install.servers import Answer, site
from metier.errors import ConflictError, InvalidSkillError, NotFoundError, RefusedError, UnavailableError, UsageError
from metier.install import ClawHubRegistry, RegistrySource, SourceKind
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access
from metier.install.refs.parsing import parse_ref
from metier.registry import PublishOptions, PublishResult, SearchOptions, search
from registry.live import live


@pytest.fixture
def hub() -> Iterator[ClawHubSite]:
    with site() as server:
        made = ClawHubSite(server)
        made.add("notes", "1.4.1", "1.10.0", "1.2.0")
        yield made


def registry_at(url: str, tmp_path: Path, *, token: str = "clh_5309", **options: Any) -> ClawHubRegistry:
    source = RegistrySource(name="hub", url=url, kind=SourceKind.CLAWHUB, auth=f"bearer:{token}")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    access = Access(environment=environment, folder=str(tmp_path), sources=(source,), **options)
    access.http.sleep = lambda _seconds: None
    return ClawHubRegistry(source=source, access=access)


def publish(registry: ClawHubRegistry, folder: Path, **options: Any) -> PublishResult:
    return registry.publish(str(folder), PublishOptions(**{"visibility": "public", **options}))


def test_a_search_returns_names_with_owners_in_the_registrys_order(hub: ClawHubSite, tmp_path: Path) -> None:
    row = {"slug": "tides", "displayName": "Tides", "summary": "Reads tides", "version": "1.2.3", "score": 0.4,
           "updatedAt": 1_780_000_000_000, "ownerHandle": "acme", "owner": {"handle": "acme"}}  # fmt: skip
    other = {"slug": None, "source": "skills-sh", "score": 0.3, "install": {"kind": "skills-sh", "reference": "a/b/c"}}
    artifactory = {"name": "plain", "description": "As Artifactory has it", "version": "1.0.0"}
    hub.answer("/search", {"results": [row, other, artifactory]})
    found = search("tides", registry_at(hub.url, tmp_path), SearchOptions(limit=5))
    assert [(one.name, one.version, one.description) for one in found.skills] == [
        ("@acme/tides", "1.2.3", "Reads tides"), ("plain", "1.0.0", "As Artifactory has it"),
    ]  # fmt: skip
    assert hub.site.requests("/api/v1/search")[0].path.endswith("?q=tides&limit=5")
    hub.answer("/skills", {"items": [{**row, "latestVersion": {"version": "1.2.3"}}], "nextCursor": "abc"})
    listed = search("", registry_at(hub.url, tmp_path))
    assert (len(listed.skills), listed.next) == (1, "abc")


def test_a_search_refuses_what_clawhub_does_not_have(hub: ClawHubSite, tmp_path: Path) -> None:
    registry = registry_at(hub.url, tmp_path)
    for options in (SearchOptions(tag="x"), SearchOptions(sort="name"), SearchOptions(cursor="x")):
        with pytest.raises(UsageError):
            search("notes", registry, options)
    with pytest.raises(UsageError, match="cannot sort by relevance without words"):
        search("", registry, SearchOptions(sort="relevance"))
    hub.answer("/search", {"results": 5})
    with pytest.raises(UnavailableError, match="sent no list of results"):
        search("notes", registry)
    with pytest.raises(UnavailableError, match="while offline"):
        search("notes", registry_at(hub.url, tmp_path, offline=True))


def test_versions_and_details_have_the_fields_of_metiers_registry(hub: ClawHubSite, tmp_path: Path) -> None:
    registry = registry_at(hub.url, tmp_path)
    rows = registry.versions("@acme/notes")
    assert [row["version"] for row in rows["versions"]] == ["1.10.0", "1.4.1", "1.2.0"]
    assert rows["tags"] == {"latest": "1.4.1"}
    assert registry.skill("notes")["name"] == "@acme/notes"
    assert registry.version("notes", "latest")["version"] == "1.4.1"
    with pytest.raises(NotFoundError, match="has no notes of rival"):
        registry.skill("@rival/notes")


def test_files_go_to_another_host_without_the_token(hub: ClawHubSite, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "tides")
    hub.accept_uploads(f"{hub.site.other}/files")
    done = publish(registry_at(hub.url, tmp_path), folder)
    assert done.is_pending
    assert (done.receipt.name, done.receipt.version) == ("@acme/tides", "0.1.0")
    (body, headers) = hub.stored["s0"]
    assert body == (folder / "SKILL.md").read_bytes()
    assert headers["content-type"] == "text/markdown"
    assert "authorization" not in headers
    (sent,) = hub.published
    assert (sent["slug"], sent["version"], sent["ownerHandle"], sent["acceptLicenseTerms"]) == ("tides", "0.1.0", "acme", True)
    assert [(row["path"], row["storageId"], row["uploadTicket"]) for row in sent["files"]] == [("SKILL.md", "s0", "t1")]
    assert hub.site.requests("/api/v1/skills")[-1].headers["authorization"] == "Bearer clh_5309"


def test_a_registry_without_upload_addresses_gets_one_form(hub: ClawHubSite, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "tides")
    (folder / "references").mkdir()
    (folder / "references/a.md").write_text("More.\n")
    hub.uploads = False
    hub.accept_uploads("")
    publish(registry_at(hub.url, tmp_path), folder, namespace="crew", version="3.0.0")
    form = hub.published[0]["form"]
    assert b'name="payload"' in form and b'"ownerHandle": "crew"' in form and b'"version": "3.0.0"' in form
    assert b'name="files"; filename="references/a.md"' in form and b"More.\n" in form


def test_a_publish_is_refused_before_anything_is_sent(hub: ClawHubSite, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "notes")
    registry = registry_at(hub.url, tmp_path)
    with pytest.raises(RefusedError, match="may show the skill to everyone") as error:
        publish(registry, folder, visibility="")
    assert error.value.hint.endswith("--registry hub --public")
    (folder / "key.txt").write_text("AKIA" + "Q7ZP5LXN2RWT4MJB")
    with pytest.raises(InvalidSkillError, match="contains secrets"):
        publish(registry, folder)
    (folder / "key.txt").unlink()
    hub.accept_uploads("ftp://127.0.0.1/files")
    with pytest.raises(ConflictError, match=r"@acme/notes 1\.4\.1 exists with other files"):
        publish(registry, folder, version="1.4.1")
    with pytest.raises(UnavailableError, match="did not say where to upload to"):
        publish(registry, folder)
    hub.answer("/whoami", Answer(b"Token revoked", status=403, headers={"Content-Type": "text/plain"}))
    with pytest.raises(RefusedError, match="Token revoked"):
        publish(registry, folder)
    assert hub.published == []


def test_metiers_own_registry_is_a_clawhub_registry(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "tide-times")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "references").mkdir()
    (folder / "references/ä.md").write_text("More.\n")
    with live(tmp_path / "server") as server:
        registry = registry_at(f"http://127.0.0.1:{server.port}", tmp_path, token=server.admin_token())
        assert publish(registry, folder, dry_run=True).receipt.created
        assert search("tide", registry).skills == ()
        assert publish(registry, folder).receipt.version == "0.1.0"
        assert not publish(registry, folder).receipt.created
        (folder / "SKILL.md").write_text(skill_text("tide-times") + "\nMore.\n")
        assert publish(registry, folder).receipt.version == "0.1.1"
        with pytest.raises(ConflictError):
            publish(registry, folder, version="0.1.0")
        assert [one.name for one in search("tide", registry).skills] == ["@admin/tide-times"]
        assert [row["version"] for row in registry.versions("tide-times")["versions"]] == ["0.1.1", "0.1.0"]
        (old,) = fetch_ref(parse_ref("hub:tide-times@0.1.0", aliases=("hub",)), registry.access).skills
        assert sorted(entry.path for entry in old.files.list()) == ["SKILL.md", "empty.txt", "references/ä.md"]
        with pytest.raises(RefusedError, match="401"):
            publish(registry_at(registry.url, tmp_path, token="nonsense"), folder)
        registry.access.http.close()
