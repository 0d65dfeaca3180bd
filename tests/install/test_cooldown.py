"""`install.cooldown`: a version that is too new is held back, wherever it comes from, and says until when."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text, write_skill
from install.builders import store_in
from install.servers import Answer, Repository, Site, site
from metier.app import App
from metier.archive import Contents, Member, digest, pack
from metier.errors import ConfigError, RefusedError, UsageError
from metier.install import (
    Access,
    Cooldown,
    InstallOptions,
    LockFetcher,
    RegistrySource,
    ScopeLevel,
    SkillCache,
    SkillStore,
    install,
    outdated,
    read_duration,
    restore_and_install,
    update,
)

NOW = 1_700_000_000.0
"""The time of every commit that a Repository of the tests makes."""
DAY = 86_400.0


@dataclass
class World:
    folder: Path
    server: Site
    repository: Repository
    now: float = NOW + 10 * DAY

    def access(self, days: float | None = 3, *, cache: str = "cache") -> Access:
        return Access(
            environment={"PATH": os.environ["PATH"], "HOME": str(self.folder)}, folder=str(self.folder),
            cache=SkillCache(str(self.folder / cache)), sources=(RegistrySource(name="r9s", url=f"{self.server.url}/skills"),),
            cooldown=None if days is None else Cooldown(seconds=days * DAY, now=lambda: self.now, origin="config.toml:2"),
        )  # fmt: skip

    def store(self, level: ScopeLevel = ScopeLevel.USER) -> SkillStore:
        return store_in(self.folder, level)

    def install(self, ref: str, days: float | None = 3, **options: Any) -> str:
        store = self.store(options.pop("level", ScopeLevel.USER))
        install([ref], store=store, access=self.access(days), options=InstallOptions(**options))
        return store.lock()["pdf"].version or store.lock()["pdf"].origin.commit

    def publish(self, **ages: float) -> None:
        """Publishes versions of these ages, in days; `v1_2_0=5` is version 1.2.0. The first is the newest."""
        rows = []
        for name, age in ages.items():
            version = name[1:].replace("_", ".")
            contents = Contents([Member("SKILL.md", skill_text("pdf", body=f"Version {version}.\n").encode())])
            data = pack(contents)
            self.server.routes[f"/skills/pdf/{version}.zip"] = Answer(data)
            rows.append({
                "name": "pdf", "version": version, "download_url": f"{self.server.url}/skills/pdf/{version}.zip",
                "digest": digest(contents), "archive_digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
                "published": formatted(self.now - age * DAY),
            })  # fmt: skip
        self.server.routes["/skills/pdf"] = Answer(json.dumps(rows[0]).encode())
        body = {"name": "pdf", "versions": rows, "tags": {"beta": rows[0]["version"]}}
        self.server.routes["/skills/pdf/versions"] = Answer(json.dumps(body).encode())


def formatted(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    repository = Repository(tmp_path / "git/r.git")
    with site(git_root=tmp_path / "git") as server:
        yield World(tmp_path, server, repository)


@pytest.mark.parametrize(
    ("wanted", "version"), [("", "1.1.0"), ("@^1", "1.1.0"), ("@latest", "1.1.0"), ("@*", "1.1.0"), ("@1.0.0", "1.0.0")]
)
def test_the_newest_version_that_is_old_enough_is_chosen(world: World, wanted: str, version: str) -> None:
    world.publish(v1_2_0=1, v1_1_0=4, v1_0_0=9)
    assert world.install(f"r9s:pdf{wanted}") == version
    assert world.install(f"r9s:pdf{wanted}", None, force=True) == ("1.0.0" if "1.0.0" in wanted else "1.2.0")


@pytest.mark.parametrize("wanted", ["@1.2.0", "@beta", "@~1.2"])
def test_a_version_that_is_named_and_too_new_is_refused_with_its_age_and_end(world: World, wanted: str) -> None:
    world.publish(v1_2_0=1, v1_1_0=4)
    with pytest.raises(RefusedError, match=r"pdf 1\.2\.0 is too new.*config\.toml:2.*until 2023-11-26") as caught:
        world.install(f"r9s:pdf{wanted}")
    assert caught.value.rule == "cooldown" and "--no-cooldown" in caught.value.hint
    assert len(world.store().lock()) == 0
    asked: list[RefusedError] = []

    def accept(refusal: RefusedError) -> bool:
        asked.append(refusal)
        return True

    assert world.install(f"r9s:pdf{wanted}", accept_new=accept) == "1.2.0"
    assert len(asked) == 1
    world.now += 3 * DAY


def test_if_every_version_is_too_new_the_error_says_so(world: World) -> None:
    world.publish(v1_0_0=1)
    with pytest.raises(RefusedError, match="too new"):
        world.install("r9s:pdf")
    world.now += 2 * DAY
    assert world.install("r9s:pdf") == "1.0.0"


def test_update_and_outdated_say_what_is_held_back_and_until_when(world: World) -> None:
    world.publish(v1_1_0=4)
    world.install("r9s:pdf")
    world.publish(v1_2_0=1, v1_1_0=4)
    (status,) = outdated(world.store(), LockFetcher(world.access()))
    ((updated,), _) = update(world.store(), LockFetcher(world.access()))
    assert status.state == "current" and status.held == updated.held == "1.2.0 until 2023-11-26 22:13 UTC"
    assert not updated.is_newer and not updated.problem
    world.now += 2 * DAY
    ((updated,), _) = update(world.store(), LockFetcher(world.access()))
    assert updated.held == "" and world.store().lock()["pdf"].version == "1.2.0"


def test_of_a_branch_the_newest_commit_that_is_old_enough_is_taken(world: World) -> None:
    first = world.repository.commit({"SKILL.md": skill_text("pdf", body="One.\n")})
    stream = world.repository.run("log", "--format=%ct", "-1", "main").strip()
    assert float(stream) == NOW
    second = later_commit(world.repository, NOW + 9 * DAY)
    ref = f"git+{world.server.url}/r.git"
    assert world.install(ref) == first
    assert world.install(f"{ref}#main", force=True) == first
    (status,) = outdated(world.store(), LockFetcher(world.access()))
    ((updated,), _) = update(world.store(), LockFetcher(world.access()))
    assert status.state == "current" and status.held == updated.held == f"{second[:10]} until 2023-11-26 22:13 UTC"
    with pytest.raises(RefusedError, match="too new"):
        world.install(f"{ref}#{second}", force=True)
    world.now += 3 * DAY
    update(world.store(), LockFetcher(world.access()))
    assert world.store().lock()["pdf"].origin.commit == second


def later_commit(repository: Repository, moment: float) -> str:
    body = skill_text("pdf", body="Two.\n")
    text = f"commit refs/heads/main\ncommitter a <a@example.com> {int(moment)} +0000\ndata 1\ny\nfrom refs/heads/main^0\n"
    text += f"M 100644 inline SKILL.md\ndata {len(body)}\n{body}\n"
    repository.run("fast-import", "--quiet", "--force", stdin=text.encode())
    return repository.id("refs/heads/main")


def test_a_commit_with_an_old_date_is_not_older_than_this_machines_last_look(world: World) -> None:
    first = world.repository.commit({"SKILL.md": skill_text("pdf", body="One.\n")})
    world.install(f"git+{world.server.url}/r.git")
    world.now += DAY
    later_commit(world.repository, NOW + 60)
    ((updated,), _) = update(world.store(), LockFetcher(world.access()))
    assert updated.held and not updated.is_newer and world.store().lock()["pdf"].origin.commit == first
    world.now += 4 * DAY
    update(world.store(), LockFetcher(world.access()))
    assert world.store().lock()["pdf"].origin.commit != first


def test_a_file_is_as_old_as_its_server_says(world: World) -> None:
    route = "/pdf.zip"
    for days, is_old in ((1, False), (4, True)):
        data = pack(Contents([Member("SKILL.md", skill_text("pdf", body=f"{days}\n").encode())]))
        world.server.routes[route] = Answer(data, headers={"Last-Modified": formatdate(world.now - days * DAY, usegmt=True)})
        if is_old:
            world.install(f"{world.server.url}{route}")
        else:
            with pytest.raises(RefusedError, match="too new"):
                world.install(f"{world.server.url}{route}")


def test_where_nothing_states_an_age_the_first_look_of_this_machine_counts(world: World) -> None:
    world.server.routes["/pdf.zip"] = Answer(pack(Contents([Member("SKILL.md", skill_text("pdf").encode())])))
    for _ in range(3):
        with pytest.raises(RefusedError, match="nothing states its age"):
            world.install(f"{world.server.url}/pdf.zip")
        world.now += DAY
    world.install(f"{world.server.url}/pdf.zip")


def test_what_is_on_this_disk_has_no_age(world: World) -> None:
    write_skill(world.folder, "pdf")
    world.install("./pdf")


@pytest.mark.parametrize("cache", ["cache", "empty"])
def test_a_projects_lock_is_held_back_too_and_the_users_own_is_not(world: World, cache: str) -> None:
    world.publish(v1_2_0=1)
    for level in (ScopeLevel.PROJECT, ScopeLevel.USER):
        world.install("r9s:pdf@1.2.0", None, level=level)
    shutil.rmtree(world.folder / "project/.agents")
    shutil.rmtree(world.folder / "home/.metier/plugins")
    store = world.store(ScopeLevel.PROJECT)
    with pytest.raises(RefusedError, match="too new"):
        restore_and_install((), store=store, access=world.access(cache=cache))
    restore_and_install((), store=world.store(), access=world.access(cache=cache))
    world.now += 3 * DAY
    restore_and_install((), store=store, access=world.access(cache=cache))


@pytest.mark.parametrize(("text", "seconds"), [("3d", 3 * DAY), ("12h", DAY / 2), ("2w", 14 * DAY), ("0", 0), ("90m", 5400)])
def test_a_cool_down_is_a_number_with_a_unit(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "3", "-1d", "soon", "3 days"])
def test_another_text_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        read_duration(text)


def test_the_longer_of_the_administrators_and_the_users_counts(tmp_path: Path) -> None:
    user, system = tmp_path / "home/.metier/config.toml", tmp_path / "system.toml"
    user.parent.mkdir(parents=True)

    def cooldown(mine: str, theirs: str) -> Cooldown | None:
        user.write_text(mine and f'[install]\ncooldown = "{mine}"\n')
        system.write_text(theirs and f'[install]\ncooldown = "{theirs}"\n')
        app = App(environment={"HOME": str(tmp_path / "home")}, folder=tmp_path, system_config_file=str(system))
        return app.installation.cooldown

    assert cooldown("", "") is None and cooldown("0", "") is None
    for mine, theirs, seconds, file in (
        ("1d", "3d", 3 * DAY, system),
        ("0", "3d", 3 * DAY, system),
        ("1w", "3d", 7 * DAY, user),
    ):
        found = cooldown(mine, theirs)
        assert found and (found.seconds, found.origin) == (seconds, f"{file}:2")
    with pytest.raises(ConfigError, match=r"system\.toml:2"):
        cooldown("1d", "soon")
