"""Registries: which release a ref means, and that it is what the registry promised."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text
from install.builders import installed, store_in
from install.servers import Answer, Site, site
from metier.archive import Contents, Member, digest, pack
from metier.errors import RefusedError, SkillNotFoundError
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.credentials import RegistrySource
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.fetch.registry import RemoteRelease, select_release
from metier.install.lock.restore import restore
from metier.install.options import InstallOptions
from metier.install.prepare import prepare
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import RegistryRef
from metier.install.store import SkillStore
from metier.install.updates import UpdateState, outdated, update
from metier.values import replace

ALIASES = ("internal",)


def access_to(server: Site, tmp_path: Path, **options: Any) -> Access:
    return Access(
        environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, folder=str(tmp_path),
        cache=SkillCache(str(tmp_path / "cache")), **options,
        sources=(RegistrySource(name="internal", url=f"{server.url}/skills"),),
    )  # fmt: skip


def publish(server: Site, name: str, *versions: str, yanked: tuple[str, ...] = (), tags: dict[str, str] | None = None) -> None:
    """Returns the response of the registry's server, with the fields that a client reads."""
    rows = []
    for version in versions:
        contents = Contents([Member("SKILL.md", skill_text(name, body=f"Version {version}.\n").encode())])
        data = pack(contents)
        url = f"/skills/{name}/{version}.zip"
        server.routes[url] = Answer(data)
        rows.append({
            "name": name, "version": version, "download_url": f"{server.url}{url}", "yanked": version in yanked,
            "digest": digest(contents), "archive_digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
        })  # fmt: skip
    server.routes[f"/skills/{name}"] = Answer(json.dumps(rows[0]).encode())
    body = {"name": name, "versions": rows, "tags": tags or {}}
    server.routes[f"/skills/{name}/versions"] = Answer(json.dumps(body).encode())


def install(store: SkillStore, access: Access, *refs: str) -> None:
    skills = [(ref, skill) for ref in refs for skill in fetch_ref(parse_ref(ref, aliases=ALIASES), access).skills]
    installed(store, *(prepare(skill, asked=ref) for ref, skill in skills))


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        ("", "2.1.0"), ("@1.2.0", "1.2.0"), ("@^1.2", "1.4.1"), ("@~1.2", "1.2.0"), ("@1", "1.4.1"), ("@1.x", "1.4.1"),
        ("@>=1.2 <1.4.1", "1.4.0"), ("@beta", "3.0.0-rc.1"), ("@latest", "2.1.0"), ("@*", "2.1.0"), ("@1.9.0", "1.9.0"),
    ],
)  # fmt: skip
def test_a_ref_means_a_version_a_tag_or_the_newest_of_a_range(tmp_path: Path, wanted: str, version: str) -> None:
    with site() as server:
        publish(
            server,
            "a",
            "2.1.0",
            "3.0.0-rc.1",
            "1.9.0",
            "1.4.1",
            "1.4.0",
            "1.2.0",
            yanked=("1.9.0",),
            tags={"beta": "3.0.0-rc.1"},
        )
        (skill,) = fetch_ref(parse_ref(f"internal:a{wanted}", aliases=ALIASES), access_to(server, tmp_path)).skills
        assert skill.origin.version == version
        assert f"Version {version}." in skill.files.read("SKILL.md", limit=10_000).decode()


def test_an_unmatched_range_names_the_available_versions() -> None:
    ref = RegistryRef(alias="internal", name="a", version="^3")
    releases = [RemoteRelease(version="1.0.0"), RemoteRelease(version="3.0.0", yanked=True), RemoteRelease(version="nonsense")]
    with pytest.raises(SkillNotFoundError) as caught:
        select_release(ref, releases, {})
    assert caught.value.hint == "versions of a: 1.0.0"


def test_a_range_is_written_down_as_it_was_typed() -> None:
    ref = parse_ref("r9s:code-review@>=1.0 <2")
    assert ref == RegistryRef(alias="r9s", name="code-review", version=">=1.0 <2")
    assert parse_ref(ref.text) == ref
    with pytest.raises(SkillNotFoundError):
        parse_ref("r9s:code-review@^^1")


def test_contents_that_the_registry_did_not_promise_are_refused(tmp_path: Path) -> None:
    with site() as server:
        publish(server, "a", "1.0.0")
        row = json.loads(server.routes["/skills/a"].body)  # type: ignore[union-attr]
        server.routes["/skills/a"] = Answer(json.dumps({**row, "digest": f"sha256:{'0' * 64}"}).encode())
        with pytest.raises(RefusedError, match="differ from the registry's digest") as caught:
            fetch_ref(parse_ref("internal:a", aliases=ALIASES), access_to(server, tmp_path))
        assert caught.value.rule == "digest-mismatch"


def test_two_skills_of_one_registry_are_restored_separately(tmp_path: Path) -> None:
    with site() as server:
        publish(server, "a", "1.0.0")
        publish(server, "b", "2.0.0")
        store = store_in(tmp_path)
        install(store, access_to(server, tmp_path), "internal:a@^1", "internal:b")
        assert len({entry.identity for entry in store.lock()}) == 2
        # A newer one does not matter to what is locked, nor does an empty cache.
        publish(server, "a", "1.1.0", "1.0.0")
        shutil.rmtree(tmp_path / "home/.metier/plugins")
        shutil.rmtree(tmp_path / "cache")
        restore(store, LockFetcher(access_to(server, tmp_path)), InstallOptions())
        assert "Version 1.0.0." in (tmp_path / "home/.metier/plugins/a/SKILL.md").read_text()
        assert "Version 2.0.0." in (tmp_path / "home/.metier/plugins/b/SKILL.md").read_text()


def test_a_lock_of_a_registry_that_is_gone_is_never_served_by_another(tmp_path: Path) -> None:
    with site() as server, site() as other:
        publish(server, "a", "1.0.0")
        publish(other, "a", "9.0.0")
        store = store_in(tmp_path)
        install(store, access_to(server, tmp_path), "internal:a")
        elsewhere = replace(
            access_to(other, tmp_path), sources=(RegistrySource(name="r9s", url=f"{other.url}/skills"),)
        )  # fmt: skip
        for sources in (elsewhere.sources, ()):
            access = replace(elsewhere, sources=sources)
            (news,) = outdated(store, LockFetcher(access))
            assert news.state is UpdateState.UNKNOWN
            assert f"no source has the url {server.url}/skills" in news.problem
        assert other.log == []


def test_news_of_a_registry_need_no_download_and_an_update_stays_in_its_range(tmp_path: Path) -> None:
    with site() as server:
        publish(server, "a", "1.0.0")
        store, access = store_in(tmp_path), access_to(server, tmp_path)
        install(store, access, "internal:a@^1")
        (fresh,) = outdated(store, LockFetcher(access))
        assert fresh.state is UpdateState.CURRENT
        publish(server, "a", "2.0.0", "1.1.0", "1.0.0")
        server.log.clear()
        (fresh,) = outdated(store, LockFetcher(access))
        assert (fresh.state, fresh.version) == (UpdateState.OUTDATED, "1.1.0")
        assert [seen.path for seen in server.log] == ["/skills/a/versions"]
        update(store, LockFetcher(access), (), InstallOptions())
        assert store.lock()["a"].version == "1.1.0"
        assert store.lock()["a"].origin.ref == "^1"


def test_a_withdrawn_version_that_is_named_exactly_is_fetched_with_a_warning(tmp_path: Path) -> None:
    with site() as server:
        publish(server, "a", "1.1.0", "1.0.0", yanked=("1.0.0",))
        access = access_to(server, tmp_path)
        for _ in range(2):
            fetched = fetch_ref(parse_ref("internal:a@1.0.0", aliases=ALIASES), access)
            assert fetched.warnings == ("a 1.0.0 was withdrawn by its publisher",)
        assert fetch_ref(parse_ref("internal:a@1.1.0", aliases=ALIASES), access).warnings == ()


def test_an_archive_at_the_name_itself_is_a_skill_with_all_its_files(tmp_path: Path) -> None:
    contents = Contents([Member("SKILL.md", skill_text("a").encode()), Member("scripts/x.sh", b"#!/bin/sh\n")])
    with site() as server:
        server.routes["/skills/a"] = Answer(pack(contents))
        (skill,) = fetch_ref(parse_ref("internal:a", aliases=ALIASES), access_to(server, tmp_path)).skills
    assert sorted(file.path for file in skill.files.list()) == ["SKILL.md", "scripts/x.sh"]


@pytest.mark.parametrize(("wanted", "version"), [("", "1.0.0"), ("@^1.0", "1.0.0"), ("@latest", "1.0.0"), ("@1.1.0", "1.1.0")])
def test_a_version_in_the_registrys_cooldown_is_taken_only_by_its_exact_version(
    tmp_path: Path, wanted: str, version: str
) -> None:
    with site() as server:
        publish(server, "pdf", "1.0.0", "1.1.0")
        mark_fresh(server, "pdf", "1.1.0", version="1.0.0")
        found = fetch_ref(parse_ref(f"internal:pdf{wanted}", aliases=ALIASES), access_to(server, tmp_path))
        assert found.skills[0].origin.version == version
        said = ("pdf: newer version in its cool-down: 1.1.0 until 2026-01-02T00:00:00Z",)
        assert found.warnings == (said if version == "1.0.0" else ())


@pytest.mark.parametrize("wanted", ["", "@^1.0", "@latest"])
def test_a_skill_with_only_versions_in_their_cooldown_is_refused_with_the_exact_version(tmp_path: Path, wanted: str) -> None:
    with site() as server:
        publish(server, "pdf", "1.1.0")
        mark_fresh(server, "pdf", "1.1.0", version="")
        with pytest.raises(RefusedError, match=r"pdf 1\.1\.0 is in its cool-down at internal until 2026-01-02") as refused:
            fetch_ref(parse_ref(f"internal:pdf{wanted}", aliases=ALIASES), access_to(server, tmp_path))
        assert refused.value.hint.endswith("internal:pdf@1.1.0")


def mark_fresh(server: Site, name: str, fresh: str, *, version: str) -> None:
    """Changes the answers of the registry to those during the cool-down of a version."""
    end = "2026-01-02T00:00:00Z"
    answers = [server.routes[path] for path in (f"/skills/{name}", f"/skills/{name}/versions")]
    one, listed = (json.loads(answer.body) for answer in answers if isinstance(answer, Answer))
    one |= {"version": version, "fresh": fresh, "available": end, **({} if version else {"download_url": ""})}
    for row in listed["versions"]:
        row["available"] = end if row["version"] == fresh else ""
    server.routes[f"/skills/{name}"] = Answer(json.dumps(one).encode())
    server.routes[f"/skills/{name}/versions"] = Answer(json.dumps(listed).encode())
