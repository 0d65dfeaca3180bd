"""What was asked, what was resolved and what is locked agree, whatever the cache holds."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from install.builders import NOON
from install.servers import Answer, Repository, Site, site
from metier.archive import Contents, Member, digest, pack
from metier.errors import ConfigError, NotFoundError, UsageError
from metier.install import (
    Access,
    InstallOptions,
    InstallScope,
    LockEntry,
    LockFetcher,
    RegistrySource,
    ScopeLevel,
    SkillCache,
    SkillStore,
    install,
    read_plugins,
    restore_and_install,
    update,
)
from metier.install.fetch.wellknown import SCHEMA

BODY = Contents([Member("SKILL.md", skill_text("pdf").encode())])
VERSIONS = ("2.0.0", "1.2.0", "1.1.0")


@dataclass
class World:
    """A repository, a registry, an archive and an index that all have the same bytes under several names."""

    folder: Path
    server: Site
    repository: Repository
    commit: str

    def access(self, cache: str) -> Access:
        return Access(
            environment={"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}, folder=str(self.folder),
            cache=SkillCache(str(self.folder / cache)), sources=(RegistrySource(name="r9s", url=f"{self.server.url}/skills"),),
        )  # fmt: skip

    def store(self, name: str) -> SkillStore:
        root = self.folder / name
        root.mkdir(exist_ok=True)
        scope = InstallScope(
            level=ScopeLevel.PROJECT, root=str(root), home=str(root), metier_home=str(root), plugins=str(root), environment={}
        )  # fmt: skip
        return SkillStore(scope, now=lambda: NOON)

    def text(self, ref: str) -> str:
        git = f"{self.server.url}/team/r.git"
        return ref.format(git=git, web=git.removesuffix(".git"), site=self.server.url, commit=self.commit)

    def install(self, store: str, ref: str, *, cache: str, git_ref: str | None = None) -> LockEntry:
        place = self.store(store)
        options = InstallOptions(git_ref=git_ref and self.text(git_ref), force=True)
        install([self.text(ref)], store=place, access=self.access(cache), options=options)
        return place.lock()["pdf"]

    def publish(self, *versions: str) -> None:
        data = pack(BODY)
        rows = [
            {
                "name": "pdf", "version": version, "download_url": f"{self.server.url}/pdf.zip", "digest": digest(BODY),
                "archive_digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            }
            for version in versions
        ]  # fmt: skip
        self.server.routes["/skills/pdf"] = Answer(json.dumps(rows[0]).encode())
        body = {"name": "pdf", "versions": rows, "tags": {"stable": "1.1.0"}}
        self.server.routes["/skills/pdf/versions"] = Answer(json.dumps(body).encode())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    repository = Repository(tmp_path / "git/team/r.git")
    commit = repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    repository.run("branch", "dev", "main")
    repository.tag("v1")
    repository.tag("v2", annotated=True)
    write_skill(tmp_path / "local", "pdf")
    data = pack(BODY)
    listed = {"name": "pdf", "type": "archive", "description": "d", "url": "/pdf.zip",
              "digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}  # fmt: skip
    routes = {
        "/pdf.zip": Answer(data, headers={"ETag": '"1"'}),
        "/.well-known/agent-skills/index.json": Answer(json.dumps({"$schema": SCHEMA, "skills": [listed]}).encode()),
    }
    with site(dict(routes), git_root=tmp_path / "git") as server:
        here = World(tmp_path, server, repository, commit)
        here.publish(*VERSIONS)
        yield here


KINDS = {
    # ref, --ref: (the ref that is locked, the version that is locked)
    ("r9s:pdf", None): ("", "2.0.0"),
    ("r9s:pdf@1.2.0", None): ("1.2.0", "1.2.0"),
    ("r9s:pdf@1.1.0", None): ("1.1.0", "1.1.0"),
    ("r9s:pdf@^1", None): ("^1", "1.2.0"),
    ("r9s:pdf@stable", None): ("stable", "1.1.0"),
    ("git+{git}", None): ("", ""),
    ("git+{git}#main", None): ("main", ""),
    ("git+{git}#dev", None): ("dev", ""),
    ("git+{git}#v1", None): ("v1", ""),
    ("git+{git}#{commit}", None): ("{commit}", ""),
    ("git+{git}", "v1"): ("v1", ""),
    ("git+{git}", "v2"): ("v2", ""),
    ("git+{git}", "{commit}"): ("{commit}", ""),
    ("git+{git}//skills/pdf", "dev"): ("dev", ""),
    ("{web}/-/tree/dev/skills/pdf", None): ("dev", ""),
    ("{web}/-/tree/{commit}/skills/pdf", None): ("{commit}", ""),
    ("{site}/pdf.zip", None): ("", ""),
    ("{site}", None): ("", ""),
    ("./local/pdf", None): ("", ""),
}


@pytest.mark.parametrize(("ref", "git_ref"), KINDS)
def test_the_lock_is_the_same_with_a_cold_cache_and_after_any_other_ref_to_the_same_bytes(
    world: World, ref: str, git_ref: str | None
) -> None:
    cold = world.install("cold", ref, cache="empty", git_ref=git_ref)
    for other, other_ref in KINDS:
        if other.partition(":")[0].partition("}")[0] == ref.partition(":")[0].partition("}")[0]:
            world.install("others", other, cache="warm", git_ref=other_ref)
    warm = world.install("warm", ref, cache="warm", git_ref=git_ref)
    assert warm == cold
    wanted, version = KINDS[ref, git_ref]
    assert (cold.origin.ref, cold.origin.version) == (world.text(wanted), version)


def test_a_pinned_version_stays_when_a_newer_one_is_published(world: World) -> None:
    world.publish("1.0.0")
    world.install("one", "r9s:pdf", cache="cache")
    world.install("two", "r9s:pdf@1.0.0", cache="cache")
    world.publish("2.0.0", "1.0.0")
    update(world.store("two"), LockFetcher(world.access("cache")))
    entry = world.store("two").lock()["pdf"]
    assert (entry.origin.ref, entry.origin.version) == ("1.0.0", "1.0.0")


def test_a_commit_of_a_forges_address_stays_when_the_branch_moves(world: World) -> None:
    entry = world.install("one", "{web}/-/tree/{commit}/skills/pdf", cache="cache")
    world.repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", body="Newer.\n")})
    update(world.store("one"), LockFetcher(world.access("cache")))
    assert world.store("one").lock()["pdf"].origin.commit == entry.origin.commit == world.commit


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_dependency_follows_the_ref_of_the_skill_that_needs_it(world: World, cache: str) -> None:
    world.repository.commit({
        "skills/pdf/SKILL.md": skill_text("pdf", head="metadata:\n  dependencies: fonts\n"),
        "skills/fonts/SKILL.md": skill_text("fonts"),
    })  # fmt: skip
    place = world.store("one")
    if cache == "warm":
        install(
            [world.text("git+{git}")], store=world.store("all"), access=world.access("c"), options=InstallOptions(take_all=True)
        )
    install([world.text("git+{git}#main")], store=place, access=world.access("c"), options=InstallOptions(skills=("pdf",)))
    assert place.lock()["fonts"].origin.ref == place.lock()["pdf"].origin.ref == "main"


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_short_commit_is_an_error_whatever_the_cache_holds(world: World, cache: str) -> None:
    if cache == "warm":
        world.install("other", "git+{git}#{commit}", cache="c")
    with pytest.raises(NotFoundError) as caught:
        world.install("one", f"git+{{git}}#{world.commit[:10]}", cache="c")
    assert "40 digits" in caught.value.hint


@pytest.mark.parametrize(
    ("ref", "hint"),
    [
        ("./local/pdf", "git+file://"), ("./pdf.zip", "remove --ref"), ("{site}/pdf.zip", "remove --ref"),
        ("{site}", "remove --ref"), ("r9s:pdf", "r9s:pdf@v1"), ("git+{git}#main", "remove --ref"),
        ("{web}/-/tree/dev/skills/pdf", "remove --ref"),
    ],
)  # fmt: skip
def test_a_ref_option_that_cannot_be_followed_is_an_error_and_not_ignored(world: World, ref: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        world.install("one", ref, cache="c", git_ref="v1")
    assert hint in caught.value.hint
    assert len(world.store("one").lock()) == 0


def test_a_local_repository_is_pinned_by_the_address_that_the_hint_names(world: World) -> None:
    with pytest.raises(UsageError) as caught:
        install(["./git/team/r.git"], store=world.store("one"), access=world.access("c"), options=InstallOptions(git_ref="v1"))
    address = caught.value.hint.split("'")[1]
    access = world.access("c")
    install([address], store=world.store("one"), access=Access(**{**vars(access), "allow_file": True}))
    assert world.store("one").lock()["pdf"].origin.ref == "v1"


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize(("url", "ref"), [("git+{git}", "v1"), ("git+{git}", "{commit}"), ("r9s:pdf", "1.1.0")])
def test_a_configured_plugin_is_locked_at_its_ref(world: World, cache: str, url: str, ref: str) -> None:
    if cache == "warm":
        world.install("other", url, cache="c")
    plugins = read_plugins([{"url": world.text(url), "ref": world.text(ref)}], where="config.toml")
    place = world.store("one")
    for _ in range(2):
        restore_and_install(plugins, store=place, access=world.access("c"))
        assert place.lock()["pdf"].origin.ref == world.text(ref)


@pytest.mark.parametrize(
    "url", ["./local/pdf", "{site}/pdf.zip", "{web}/-/tree/dev/skills/pdf", "git+{git}#main", "r9s:pdf@1.1.0"]
)
def test_a_plugin_whose_ref_cannot_be_followed_is_an_error_of_the_configuration(world: World, url: str) -> None:
    plugins = read_plugins([{"url": world.text(url), "ref": "v1"}], where="config.toml")
    with pytest.raises(ConfigError, match="ref"):
        restore_and_install(plugins, store=world.store("one"), access=world.access("c"))
