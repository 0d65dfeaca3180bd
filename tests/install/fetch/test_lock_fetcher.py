"""The sources of locked skills, asked again: real repositories behind real git servers on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from install.builders import installed, prepared, store_in
from install.servers import Repository, Site, site
from metier.errors import MetierError, NotFoundError, UnavailableError
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.lock.lock_file import LockEntry, Origin
from metier.install.lock.restore import restore
from metier.install.options import InstallOptions
from metier.install.prepare import prepare
from metier.install.protocols import FetchedSkill
from metier.install.refs.parsing import parse_ref
from metier.install.store import SkillStore
from metier.install.updates import UpdateState, outdated, update


def files(*names: str, body: str = "Do it.\n") -> dict[str, str]:
    return {f"skills/{name}/SKILL.md": skill_text(name, body=body) for name in names}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "git").mkdir()
    with site(git_root=tmp_path / "git") as here:
        yield here


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}, folder=str(tmp_path),
                  cache=SkillCache(str(tmp_path / "cache")))  # fmt: skip


def install(store: SkillStore, access: Access, ref: str) -> tuple[LockEntry, ...]:
    skills = fetch_ref(parse_ref(ref), access).skills
    installed(store, *(prepare(skill, asked=ref) for skill in skills))
    return tuple(store.lock())


def skill(found: FetchedSkill | MetierError) -> FetchedSkill:
    assert isinstance(found, FetchedSkill), found
    return found


def test_a_restore_takes_the_locked_commit_and_not_a_newer_one(tmp_path: Path, server: Site, access: Access) -> None:
    repository = Repository(tmp_path / "git/r.git")
    repository.commit(files("pdf", "docx"))
    store = store_in(tmp_path)
    entries = install(store, access, f"git+{server.url}/r.git")
    repository.commit(files("pdf", "docx", body="Newer.\n"))
    server.log.clear()
    without_cache = replace(access, cache=None)
    found = LockFetcher(without_cache).exact(entries)
    assert [skill(one).digest for one in found] == [entry.digest for entry in entries]
    # One repository is visited once, however many of its skills are wanted.
    assert len(server.requests("/r.git/info/refs")) <= 2


def test_a_cached_skill_needs_no_request(tmp_path: Path, server: Site, access: Access) -> None:
    Repository(tmp_path / "git/r.git").commit(files("pdf"))
    store = store_in(tmp_path)
    install(store, access, f"git+{server.url}/r.git")
    os.rename(tmp_path / "home/.metier/plugins", tmp_path / "gone")
    server.log.clear()
    restore(store, LockFetcher(replace(access, offline=True)), InstallOptions())
    assert server.log == []
    assert (tmp_path / "home/.metier/plugins/pdf/SKILL.md").is_file()


def test_offline_without_a_cache_says_so(tmp_path: Path, server: Site, access: Access) -> None:
    Repository(tmp_path / "git/r.git").commit(files("pdf"))
    entries = install(store_in(tmp_path), access, f"git+{server.url}/r.git")
    (found,) = LockFetcher(replace(access, cache=None, offline=True)).exact(entries)
    assert isinstance(found, UnavailableError)
    assert "--offline" in str(found)


def test_outdated_asks_each_repository_once_for_all_of_its_skills(tmp_path: Path, server: Site, access: Access) -> None:
    store = store_in(tmp_path)
    repositories = {}
    for name in ("r1", "r2", "r3"):
        repositories[name] = Repository(tmp_path / f"git/{name}.git")
        repositories[name].commit(files(*(f"{name}-{number}" for number in range(4))))
        install(store, access, f"git+{server.url}/{name}.git")
    repositories["r2"].commit(files(*(f"r2-{number}" for number in range(4)), body="Newer.\n"))
    server.log.clear()
    found = outdated(store, LockFetcher(access))
    assert {one.entry.name for one in found if one.state is UpdateState.OUTDATED} == {f"r2-{number}" for number in range(4)}
    assert [len(server.requests(f"/{name}.git/info/refs")) for name in repositories] == [1, 3, 1]
    # The repository with a new commit is also asked for that commit and its files.


def test_an_update_follows_the_default_branch_and_knows_a_skill_that_did_not_change(
    tmp_path: Path, server: Site, access: Access
) -> None:
    repository = Repository(tmp_path / "git/r.git")
    repository.commit(files("pdf", "docx"))
    store = store_in(tmp_path)
    install(store, access, f"git+{server.url}/r.git")
    new = repository.commit({**files("pdf"), **files("docx", body="Newer.\n")})
    renewals, _ = update(store, LockFetcher(access), [], InstallOptions())
    assert {renewal.entry.name: renewal.is_newer for renewal in renewals} == {"pdf": False, "docx": True}
    assert {entry.origin.commit for entry in store.lock()} == {new}
    assert all(fresh.state is UpdateState.CURRENT for fresh in outdated(store, LockFetcher(access)))


def test_a_tag_or_a_commit_that_was_asked_for_stays(tmp_path: Path, server: Site, access: Access) -> None:
    repository = Repository(tmp_path / "git/r.git")
    first = repository.commit(files("pdf"))
    store = store_in(tmp_path)
    install(store, access, f"git+{server.url}/r.git#{first}")
    repository.commit(files("pdf", body="Newer.\n"))
    server.log.clear()
    assert [fresh.state for fresh in outdated(store, LockFetcher(access))] == [UpdateState.CURRENT]
    assert server.log == []


def test_a_skill_that_its_repository_dropped_is_reported_and_kept(tmp_path: Path, server: Site, access: Access) -> None:
    repository = Repository(tmp_path / "git/r.git")
    repository.commit(files("pdf", "docx"))
    store = store_in(tmp_path)
    install(store, access, f"git+{server.url}/r.git")
    repository.commit(files("docx"))
    found = {entry.name: one for entry, one in zip(store.lock(), LockFetcher(access).latest(tuple(store.lock())), strict=True)}
    assert isinstance(found["pdf"], NotFoundError)
    renewals, _ = update(store, LockFetcher(access), [], InstallOptions())
    assert [renewal.entry.name for renewal in renewals if renewal.problem] == ["pdf"]
    assert "pdf" in store.lock()


def test_one_server_that_is_down_does_not_hide_the_others(tmp_path: Path, server: Site, access: Access) -> None:
    Repository(tmp_path / "git/r.git").commit(files("pdf"))
    store = store_in(tmp_path)
    install(store, access, f"git+{server.url}/r.git")
    down = replace(store.lock()["pdf"], name="gone", origin=replace(store.lock()["pdf"].origin, url=f"{server.url}/no.git"))
    found = LockFetcher(access).newest([store.lock()["pdf"], down])
    assert (found[0].problem, bool(found[1].problem)) == ("", True)


def test_a_folder_is_compared_by_its_contents(tmp_path: Path, access: Access) -> None:
    write_skill(tmp_path / "repo/skills", "pdf")
    store = store_in(tmp_path)
    install(store, access, str(tmp_path / "repo"))
    assert [fresh.state for fresh in outdated(store, LockFetcher(access))] == [UpdateState.CURRENT]
    write_skill(tmp_path / "repo/skills", "pdf", body="Newer.\n")
    assert [fresh.state for fresh in outdated(store, LockFetcher(access))] == [UpdateState.OUTDATED]
    update(store, LockFetcher(access), [], InstallOptions())
    assert [fresh.state for fresh in outdated(store, LockFetcher(access))] == [UpdateState.CURRENT]


def test_siblings_are_found_in_the_same_commit(tmp_path: Path, server: Site, access: Access) -> None:
    repository = Repository(tmp_path / "git/r.git")
    repository.commit(files("pdf", "fonts"))
    entries = install(store_in(tmp_path), access, f"git+{server.url}/r.git//skills/pdf")
    repository.commit(files("pdf"))
    assert [one.name for one in LockFetcher(access).beside(entries[0], ["fonts", "nothing"]).skills] == ["fonts"]


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch {0}'",
        "--upload-pack=touch {0}",
        "ssh://-oProxyCommand=touch%20{0}/x",
        "file:///etc",
        "fd::17/foo",
        "{0}",
    ],
)
def test_an_untrusted_lock_cannot_make_git_run_anything(tmp_path: Path, access: Access, url: str) -> None:
    mark = tmp_path / "mark"
    origin = Origin(kind="git", url=url.format(mark), path="skills/pdf", ref="main", commit="c" * 40)
    entry = replace(prepared("pdf").entry, origin=origin)
    for ask in (LockFetcher(access).exact, LockFetcher(access).latest):
        assert isinstance(ask([entry])[0], MetierError)
    assert LockFetcher(access).newest([entry])[0].problem
    assert not mark.exists()
