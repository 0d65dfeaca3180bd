"""ClawHub registries: answers in the shape of the public one, and answers that lie."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from install.builders import installed, store_in
from install.clawhub_site import CREATED, ClawHubSite, packed
from install.servers import Answer, redirect, site
from metier.errors import ConfigError, MetierError, RefusedError, SkillNotFoundError, UnavailableError, UsageError
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.cooldown import Cooldown
from metier.install.fetch.credentials import RegistrySource, SourceKind, read_sources
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access, FetchJob
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.fetch.registry import list_releases
from metier.install.prepare import prepare
from metier.install.protocols import Fetched, FetchedSkill
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import RegistryRef
from metier.install.refs.source_rules import SourceList, SourceRules
from metier.install.updates import UpdateState, outdated, update
from metier.values import replace

TOKEN = {"HUB_TOKEN": "clh_5309"}


@pytest.fixture
def hub() -> Iterator[ClawHubSite]:
    with site() as server:
        made = ClawHubSite(server)
        made.add("notes", "1.4.1", "2.0.0-rc.1", "1.4.0", "1.2.0")
        yield made


def reaching(hub: ClawHubSite, tmp_path: Path, **options: Any) -> Access:
    source = RegistrySource(name="hub", url=hub.url, kind=SourceKind.CLAWHUB, auth="bearer:${HUB_TOKEN}")
    fresh = Access(**{
        "environment": {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **TOKEN}, "folder": str(tmp_path),
        "cache": SkillCache(str(tmp_path / "cache")), "sources": (source,), **options,
    })  # fmt: skip
    fresh.http.sleep = lambda _seconds: None
    return fresh


def brought(text: str, access: Access) -> Fetched:
    return fetch_ref(parse_ref(text, aliases=("hub",)), access)


def refused(text: str, access: Access, kind: type[MetierError] = RefusedError) -> str:
    with pytest.raises(kind) as error:
        brought(text, access)
    assert "\n" not in str(error.value)
    return f"{error.value} | {error.value.hint}"


@pytest.mark.parametrize(
    ("wanted", "version"), [("", "1.4.1"), ("@1.2.0", "1.2.0"), ("@^1.2", "1.4.1"), ("@~1.2", "1.2.0"), ("@latest", "1.4.1")]
)
def test_a_ref_means_a_version_a_tag_or_the_newest_of_a_range(
    hub: ClawHubSite, tmp_path: Path, wanted: str, version: str
) -> None:
    (found,) = brought(f"hub:notes{wanted}", reaching(hub, tmp_path)).skills
    assert found.origin.version == version
    assert found.origin.url == f"{hub.url}/@acme/notes"
    assert found.origin.commit.startswith("sha256:")
    assert sorted(entry.path for entry in found.files.list()) == ["SKILL.md", "references/a.md"]
    assert f"Version {version}." in found.files.read("SKILL.md", limit=10_000).decode()
    assert all(seen.headers.get("authorization") == "Bearer clh_5309" for seen in hub.site.log)


def test_the_lock_restores_reports_and_updates_within_the_owner(hub: ClawHubSite, tmp_path: Path) -> None:
    access = reaching(hub, tmp_path)
    store = store_in(tmp_path / "home")
    (found,) = brought("hub:notes", access).skills
    installed(store, prepare(found, asked="hub:notes"))
    fetcher = LockFetcher(access)
    assert [one.state for one in outdated(store, fetcher)] == [UpdateState.CURRENT]
    downloads = len(hub.site.requests("/api/v1/download"))
    hub.add("notes", "1.5.0", "1.4.1")
    (row,) = outdated(store, fetcher)
    assert (row.state, row.version) == (UpdateState.OUTDATED, "1.5.0")
    assert len(hub.site.requests("/api/v1/download")) == downloads
    update(store, fetcher)
    assert store.lock()["notes"].origin.version == "1.5.0"
    assert all("ownerHandle=acme" in seen.path for seen in hub.site.requests("/api/v1/skills/notes")[-2:])
    # The name is another owner's now.
    hub.add("notes", "9.0.0", owner="mallory")
    (row,) = outdated(store, fetcher)
    assert row.state is UpdateState.UNKNOWN
    assert "there is @mallory/notes" in row.problem or "no skill is named" in row.problem
    hub.add("notes", "1.5.0", "1.4.1")
    (again,) = LockFetcher(reaching(hub, tmp_path / "elsewhere")).exact([store.lock()["notes"]])
    assert isinstance(again, FetchedSkill)
    assert again.digest == store.lock()["notes"].digest
    (lost,) = LockFetcher(replace(access, sources=(), cache=None)).exact([store.lock()["notes"]])
    assert isinstance(lost, ConfigError)
    assert 'kind = "clawhub"' in lost.hint


def test_a_cached_version_is_not_downloaded_again_and_is_there_offline(hub: ClawHubSite, tmp_path: Path) -> None:
    brought("hub:notes", reaching(hub, tmp_path))
    brought("hub:@acme/notes", reaching(hub, tmp_path))
    assert len(hub.site.requests("/api/v1/download")) == 1
    assert brought("hub:notes", reaching(hub, tmp_path, offline=True)).skills[0].origin.version == "1.4.1"


def test_artifactory_has_no_owners_and_lists_no_hashes(hub: ClawHubSite, tmp_path: Path) -> None:
    hub.add("plain", "1.0.0", owner=None, listed=False)
    hub.answer("/skills/plain", {"slug": "plain", "summary": "x", "latestVersion": "1.0.0", "versions": 1})
    (found,) = brought("hub:plain", reaching(hub, tmp_path)).skills
    assert (found.origin.url, found.origin.commit) == (f"{hub.url}/plain", "")
    assert found.digest.startswith("sha256:")


def test_the_cool_down_holds_a_fresh_version_back(hub: ClawHubSite, tmp_path: Path) -> None:
    cooldown = Cooldown(seconds=86_400, now=lambda: CREATED / 1000 + 3600)
    hub.add("notes", "1.4.1", "1.4.0")
    (found,) = brought("hub:notes", reaching(hub, tmp_path, cooldown=cooldown)).skills
    assert found.origin.version == "1.4.0"
    assert found.held.startswith("1.4.1 until ")


def test_versions_are_listed_lowest_first(hub: ClawHubSite, tmp_path: Path) -> None:
    rows = list_releases(RegistryRef(alias="hub", name="notes"), FetchJob(ref="hub:notes", access=reaching(hub, tmp_path)))
    assert [row.version for row in rows] == ["1.2.0", "1.4.0", "1.4.1", "2.0.0-rc.1"]


def test_what_the_registry_calls_malware_is_refused_and_what_it_doubts_is_said(hub: ClawHubSite, tmp_path: Path) -> None:
    doubt = {"isSuspicious": True, "isMalwareBlocked": False, "reasonCodes": ["dynamic_code"]}
    hub.add("notes", "1.0.0", moderation=doubt)
    assert brought("hub:notes", reaching(hub, tmp_path)).warnings == ("hub marks notes as suspicious (dynamic_code)",)
    hub.add("notes", "1.0.0", moderation={**doubt, "isMalwareBlocked": True})
    said = refused("hub:notes", reaching(hub, tmp_path))
    assert said.startswith("hub blocks @acme/notes as malware: dynamic_code")


def test_a_denied_owner_is_refused_although_the_ref_does_not_name_them(hub: ClawHubSite, tmp_path: Path) -> None:
    rules = SourceRules(deny=(SourceList(patterns=("127.0.0.1/@acme",), origin="config.toml"),))
    assert "must not be used" in refused("hub:notes", reaching(hub, tmp_path, rules=rules))


def test_a_skill_that_clawhub_only_points_to_is_named_by_its_repository(hub: ClawHubSite, tmp_path: Path) -> None:
    hub.add("notes", "1.0.0")
    handoff = {"sourceRef": "public-github", "repo": "acme/tools", "commit": "a" * 40, "path": "skills/notes"}
    hub.answer("/skills/notes", {"skill": {"slug": "notes"}, "latestVersion": None, "owner": {"handle": "acme"}})
    hub.answer("/skills/notes/versions", {"items": [], "nextCursor": None})
    hub.answer("/download", handoff)
    said = refused("hub:notes", reaching(hub, tmp_path), SkillNotFoundError)
    assert f"metier install 'github:acme/tools/skills/notes#{'a' * 40}'" in said


def _traversal() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("../evil.md", b"x")
    return out.getvalue()


HOSTILE: dict[str, tuple[Callable[[ClawHubSite], None], type[MetierError], str]] = {
    "page": (
        lambda hub: hub.answer("/skills/notes", Answer(b"<html>", headers={"Content-Type": "text/html"})),
        UnavailableError, "does not answer like a ClawHub registry (text/html)",
    ),
    "list": (lambda hub: hub.answer("/skills/notes", Answer(b"[1]")), UnavailableError, "does not answer like a ClawHub"),
    "deep": (lambda hub: hub.answer("/skills/notes", Answer(b"[" * 90_000)), UnavailableError, "does not answer like"),
    "huge": (
        lambda hub: hub.answer("/skills/notes", Answer(b" " * 2_000_000)),
        RefusedError, "is larger than 1,048,576 bytes",
    ),
    "huge-archive": (
        lambda hub: hub.answer("/download", Answer(b"PK", length=65 * 1024 * 1024)),
        RefusedError, "is larger than 67,108,864 bytes",
    ),
    "version": (
        lambda hub: hub.answer("/skills/notes", {"skill": {"slug": "notes"}, "latestVersion": {"version": "../../x"}}),
        UnavailableError, "sent the version '../../x'",
    ),
    "version-type": (
        lambda hub: hub.answer("/skills/notes", {"skill": {"slug": "notes"}, "latestVersion": {"version": {"a": 1}}}),
        UnavailableError, "sent the version",
    ),
    "other-version": (
        lambda hub: hub.answer("/skills/notes/versions/1.4.1", {"version": {"version": "1.0.0"}}),
        UnavailableError, "sent '1.0.0' for the version 1.4.1",
    ),
    "name": (
        lambda hub: hub.answer("/skills/notes", {"skill": {"slug": "../etc"}, "latestVersion": {"version": "1.0.0"}}),
        UnavailableError, "sent the name '../etc'",
    ),
    "owner": (
        lambda hub: hub.answer("/skills/notes", {"skill": {"slug": "notes"}, "owner": {"handle": "../x"}}),
        UnavailableError, "sent the owner '../x'",
    ),
    "hash": (
        lambda hub: hub.answer(
            "/skills/notes/versions/1.4.1", {"version": {"version": "1.4.1", "files": [{"path": "a", "sha256": "no"}]}}
        ),
        UnavailableError, "sent a file without a path or a SHA-256",
    ),
    "bytes": (
        lambda hub: hub.downloads["notes"].update({"1.4.1": packed({**hub.files("notes", "1.4.1"), "SKILL.md": b"x"})}),
        RefusedError, "differ from the hashes",
    ),
    "one-more-file": (
        lambda hub: hub.downloads["notes"].update({"1.4.1": packed({**hub.files("notes", "1.4.1"), "run.sh": b"x"})}),
        RefusedError, "differ from the hashes",
    ),
    "traversal": (lambda hub: hub.answer("/download", Answer(_traversal())), RefusedError, "../evil.md"),
    "no-archive": (
        lambda hub: hub.answer("/download", Answer(b"hello", headers={"Content-Type": "text/plain"})),
        UnavailableError, "sent no archive of @acme/notes (text/plain)",
    ),
    "words": (
        lambda hub: hub.answer(
            "/skills/notes", Answer(b"Name is\n\x1b[31mambiguous.", status=409, headers={"Content-Type": "text/plain"})
        ),
        MetierError, "Name is [31mambiguous | name its owner as",
    ),
    "forbidden": (
        lambda hub: hub.answer("/skills/notes", Answer(b"Blocked", status=403, headers={"Content-Type": "text/plain"})),
        RefusedError, ": Blocked | give a token",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_answer_is_one_sentence(hub: ClawHubSite, tmp_path: Path, case: str) -> None:
    change, kind, expected = HOSTILE[case]
    change(hub)
    assert expected in refused("hub:notes", reaching(hub, tmp_path), kind)
    assert not list((tmp_path / "cache").glob("**/SKILL.md"))


def test_the_token_does_not_follow_a_redirect_to_another_host(hub: ClawHubSite, tmp_path: Path) -> None:
    hub.site.routes["/elsewhere.zip"] = Answer(hub.downloads["notes"]["1.4.1"])
    hub.answer("/download", redirect(f"{hub.site.other}/elsewhere.zip"))
    assert brought("hub:notes", reaching(hub, tmp_path)).skills
    (seen,) = hub.site.requests("/elsewhere.zip")
    assert "authorization" not in seen.headers


def test_a_mirror_answers_without_the_token_if_the_registry_cannot_be_reached(hub: ClawHubSite, tmp_path: Path) -> None:
    source = RegistrySource(
        name="hub", url="http://127.0.0.1:9", kind=SourceKind.CLAWHUB, auth="bearer:${HUB_TOKEN}", mirrors=(hub.url,)
    )
    (found,) = brought("hub:notes", reaching(hub, tmp_path, sources=(source,))).skills
    assert found.origin.url == "http://127.0.0.1:9/@acme/notes"
    assert not any("authorization" in seen.headers for seen in hub.site.log)


def test_a_source_of_another_kind_has_no_owners(hub: ClawHubSite, tmp_path: Path) -> None:
    source = RegistrySource(name="hub", url=hub.url)
    said = refused("hub:@acme/notes", reaching(hub, tmp_path, sources=(source,)), UsageError)
    assert said.endswith("write hub:notes")


def test_the_kind_of_a_source_is_read_from_the_settings() -> None:
    (source,) = read_sources({"art": {"url": "https://art.example/api/skills/team/api/v1/", "kind": "clawhub"}})
    assert (source.url, source.kind) == ("https://art.example/api/skills/team", SourceKind.CLAWHUB)
    with pytest.raises(ConfigError, match="unknown kind 'claw'"):
        read_sources({"art": {"url": "https://art.example", "kind": "claw"}})
    with pytest.raises(ConfigError, match="keys and signed are for"):
        read_sources({"art": {"url": "https://art.example", "kind": "clawhub", "signed": True}})
