"""Skills from everywhere a ref can point, as values."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from archive.hostile import ZipEntry, zip_of
from builders import skill_text, write_skill
from install.servers import Answer, Repository, Seen, git_daemon, redirect, site
from metier.archive import ArchiveFormat, Contents, Link, Member, digest, pack
from metier.errors import ConfigError, NotFoundError, RefusedError, SkillNotFoundError, UnavailableError
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.credentials import RegistrySource
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.http import HttpNotFoundError
from metier.install.fetch.job import Access, FetchProgress, FetchStage
from metier.install.fetch.repository import FoundSkill, select_skills
from metier.install.fetch.tree import read_folder
from metier.install.fetch.wellknown import SCHEMA
from metier.install.installation import list_source
from metier.install.protocols import Fetched
from metier.install.refs.parsing import parse_ref
from metier.sources import DiskFiles


def skill(name: str = "a", **files: bytes) -> Contents:
    return Contents([Member("SKILL.md", skill_text(name).encode()), *(Member(path, data) for path, data in files.items())])


def many(*names: str, prefix: str = "skills") -> Contents:
    return Contents(Member(f"{prefix}/{name}/SKILL.md", skill_text(name).encode()) for name in names)


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return reaching(tmp_path)


def reaching(tmp_path: Path, **options: Any) -> Access:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **options.pop("variables", {})}
    fresh = Access(
        environment=environment, folder=str(tmp_path), cache=SkillCache(str(tmp_path / "cache")), timeout=20.0, **options
    )
    fresh.http.sleep = lambda _seconds: None
    return fresh


def brought(text: str, access: Access, **options: Any) -> Fetched:
    return fetch_ref(parse_ref(text, aliases=[source.name for source in access.sources]), access, **options)


def names(fetched: Fetched) -> list[str]:
    return [one.name for one in fetched.skills]


def picking(*wanted: str) -> Any:
    return lambda found: select_skills(found, wanted)


def nothing(_found: tuple[FoundSkill, ...]) -> Iterable[FoundSkill]:
    return ()


# --- local


def test_a_folder_is_read_with_its_links_and_bits_and_without_its_caches(tmp_path: Path, access: Access) -> None:
    folder = write_skill(tmp_path, "a")
    (folder / "run.sh").write_text("x")
    (folder / "run.sh").chmod(0o755)
    (folder / "l").symlink_to("run.sh")
    for noise in (".git/config", "__pycache__/x.pyc", "node_modules/p/x.js", ".DS_Store"):
        (folder / noise).parent.mkdir(parents=True, exist_ok=True)
        (folder / noise).write_text("x")
    (one,) = brought("./a", access).skills
    assert (one.name, one.origin.kind, one.origin.url, one.origin.path) == ("a", "path", str(folder), "")
    assert isinstance(one.files, Contents)
    assert [(entry.path, entry.executable) for entry in one.files.list()] == [("SKILL.md", False), ("run.sh", True)]
    assert one.files.links == (Link("l", "run.sh"),)
    assert one.digest == digest(one.files) == digest(read_folder(str(folder)))


def test_a_folder_of_skills_a_skill_file_and_a_bare_name_are_found(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_skill(tmp_path / "skills", name)
    access = reaching(tmp_path, places=(str(tmp_path / "none"), str(tmp_path / "skills")))
    assert names(brought("./skills", access)) == names(brought(".", access)) == ["a", "b"]
    for text in ("./skills/b/SKILL.md", "b", "~/skills/b"):
        assert names(brought(text, access)) == ["b"]
    with pytest.raises(SkillNotFoundError) as caught:
        brought("bb", access)
    assert "'b'" in caught.value.hint
    for absent in ("./absent", "./absent.zip", "~/absent"):
        with pytest.raises(SkillNotFoundError):
            brought(absent, access)


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "..", "nothing"])
def test_i17_a_link_out_of_a_folder_is_refused(tmp_path: Path, access: Access, target: str) -> None:
    (tmp_path / "secret").write_text("key")
    (write_skill(tmp_path, "a") / "l").symlink_to(target)
    with pytest.raises(RefusedError):
        brought("./a", access)


def test_i41_a_pipe_in_a_folder_is_refused_and_does_not_hang(tmp_path: Path, access: Access) -> None:
    os.mkfifo(write_skill(tmp_path, "a") / "pipe")
    with pytest.raises(RefusedError, match="device, pipe or socket") as refusal:
        brought("./a", access)
    assert "archive" not in refusal.value.hint


@pytest.mark.parametrize("to", ArchiveFormat)
@pytest.mark.parametrize("name", ["x.zip", "x.skill", "x.tar.gz", "x.tgz"])
def test_an_archive_file_is_known_by_its_bytes(tmp_path: Path, access: Access, to: ArchiveFormat, name: str) -> None:
    (tmp_path / name).write_bytes(pack(skill("a", x=b"1"), to=to))
    (one,) = brought(f"./{name}", access).skills
    assert (one.name, one.origin.kind, one.files) == ("a", "archive", skill("a", x=b"1"))


def test_an_archive_of_a_whole_repository_holds_many(tmp_path: Path, access: Access) -> None:
    (tmp_path / "repo.zip").write_bytes(pack(many("a", "b", prefix="repo-main/skills")))
    got = brought("./repo.zip", access, choose=picking("b"))
    assert (names(got), [one.name for one in got.offered], got.skills[0].origin.path) == (["b"], ["a", "b"], "skills/b")


def test_an_archive_without_a_skill_says_so(tmp_path: Path, access: Access) -> None:
    (tmp_path / "x.zip").write_bytes(pack(Contents([Member("README.md", b"x")])))
    with pytest.raises(SkillNotFoundError) as caught:
        brought("./x.zip", access)
    assert "SKILL.md" in caught.value.hint
    (tmp_path / "y.zip").write_bytes(b"<html>")
    with pytest.raises(RefusedError):
        brought("./y.zip", access)


# --- git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "srv" / "r.git")
    pages = {f"skills/{name}/SKILL.md": skill_text(name) for name in ("a", "b")}
    made.commit({**pages, "skills/b/run.sh": ("100755", "x"), "README.md": "x"})
    return made


def test_a_repository_offers_its_skills_and_the_chosen_ones_come(
    repository: Repository, tmp_path: Path, access: Access
) -> None:
    with git_daemon(tmp_path / "srv") as url:
        got = brought(f"git+{url}/r.git", access, choose=picking("b"))
        (one,) = got.skills
        assert [found.name for found in got.offered] == ["a", "b"]
        assert (one.origin.kind, one.origin.url, one.origin.path, one.origin.ref) == ("git", f"{url}/r.git", "skills/b", "")
        assert one.origin.commit == repository.id("main")
        assert names(brought(f"git+{url}/r.git#main@a", access)) == ["a"]
        assert names(brought(f"git+{url}/r.git//skills/a", access)) == ["a"]
        assert brought(f"git+{url}/r.git", access, choose=nothing).skills == ()
        with pytest.raises(SkillNotFoundError):
            brought(f"git+{url}/r.git#@c", access)
        with pytest.raises(SkillNotFoundError):
            brought(f"git+{url}/r.git//missing", access)


def test_the_number_of_skills_does_not_matter_to_the_number_of_requests(tmp_path: Path, access: Access) -> None:
    made = Repository(tmp_path / "srv" / "many.git")
    made.commit({f"skills/s{number}/{file}": skill_text(f"s{number}") for number in range(30) for file in ("SKILL.md", "x.md")})
    with site(git_root=tmp_path / "srv") as server:
        assert len(brought(f"{server.url}/many.git", access).skills) == 30
        assert len(server.log) <= 12


def test_a_tree_address_with_a_slash_branch_comes_from_that_branch(
    repository: Repository, tmp_path: Path, access: Access
) -> None:
    repository.commit({"libs/c/SKILL.md": skill_text("c")}, branch="fix/one")
    with site(git_root=tmp_path) as server:
        (one,) = brought(f"{server.url}/srv/r/-/tree/fix/one/libs/c", access).skills
    assert (one.name, one.origin.ref, one.origin.path) == ("c", "fix/one", "libs/c")


def test_a_repository_without_git_in_its_address_is_found(tmp_path: Path, access: Access) -> None:
    Repository(tmp_path / "srv/team/tools").commit({"skills/a/SKILL.md": skill_text("a")})
    with site(git_root=tmp_path / "srv") as server:
        (one,) = brought(f"{server.url}/team/tools", access).skills
    assert (one.name, one.origin.kind, one.origin.url) == ("a", "git", f"{server.url}/team/tools")


def test_a_commit_that_is_in_the_cache_is_not_fetched_again(repository: Repository, tmp_path: Path, access: Access) -> None:
    with site(git_root=tmp_path / "srv") as server:
        first = brought(f"{server.url}/r.git", access)
        before = len(server.log)
        second = brought(f"{server.url}/r.git", access)
        assert {seen.path.partition("?")[2] for seen in server.log[before:]} <= {"service=git-upload-pack", ""}
        assert len(server.log) - before == 2
        commit = repository.id("main")
        before = len(server.log)
        assert names(brought(f"{server.url}/r.git#{commit}", access)) == ["a", "b"]
        assert len(server.log) == before
    assert first == second


@pytest.mark.usefixtures("repository")
def test_offline_uses_the_cache_without_a_request(tmp_path: Path, access: Access) -> None:
    with site(git_root=tmp_path / "srv") as server:
        online = brought(f"{server.url}/r.git", access, choose=picking("a"))
        url = server.url
    offline = reaching(tmp_path, offline=True)
    assert brought(f"{url}/r.git", offline, choose=picking("a")) == online
    assert brought(f"{url}/r.git", offline, choose=nothing).offered == online.offered
    for text in (f"{url}/r.git#other", "o/r", "https://example.com/x.zip", "https://example.com"):
        with pytest.raises(UnavailableError, match="not in the cache"):
            brought(text, offline)
    with pytest.raises(UnavailableError):
        brought(f"{url}/r.git", offline, choose=picking("b"))


@pytest.mark.usefixtures("repository")
def test_i48_a_damaged_cache_is_repaired_from_the_source(tmp_path: Path, access: Access) -> None:
    with site(git_root=tmp_path / "srv") as server:
        first = brought(f"{server.url}/r.git", access)
        for file in (tmp_path / "cache" / "objects").rglob("*.zip"):
            file.write_bytes(b"garbage")
        assert brought(f"{server.url}/r.git", access) == first


@pytest.mark.usefixtures("repository")
def test_without_a_cache_everything_still_comes(tmp_path: Path) -> None:
    with git_daemon(tmp_path / "srv") as url:
        bare = Access(environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
        assert names(fetch_ref(parse_ref(f"git+{url}/r.git"), bare)) == ["a", "b"]


# --- web


@pytest.mark.parametrize("to", ArchiveFormat)
def test_an_archive_at_an_address(access: Access, to: ArchiveFormat) -> None:
    with site({"/x.zip": Answer(pack(skill(), to=to), headers={"ETag": '"1"'})}) as server:
        (one,) = brought(f"{server.url}/x.zip", access).skills
    assert (one.name, one.files, one.origin.kind, one.origin.etag) == ("a", skill(), "http", '"1"')


def test_an_archive_that_has_not_changed_is_not_sent_again(access: Access) -> None:
    def answer(seen: Seen) -> Answer:
        return Answer(status=304) if seen.headers.get("if-none-match") else Answer(pack(skill()), headers={"ETag": '"1"'})

    with site({"/x.zip": answer}) as server:
        assert brought(f"{server.url}/x.zip", access) == brought(f"{server.url}/x.zip", access)
        assert [("if-none-match" in seen.headers) for seen in server.log] == [False, True]


def test_a_single_skill_file(access: Access) -> None:
    with site({"/a/SKILL.md": Answer(skill_text("a").encode(), headers={"Content-Type": "text/markdown"})}) as server:
        (one,) = brought(f"{server.url}/a/SKILL.md", access).skills
    assert (one.name, one.files) == ("a", skill())


@pytest.mark.parametrize("body", [b"<!DOCTYPE html>", b"", b"no frontmatter", b"PK\3\4", b"\xff\xfe"])
def test_i39_a_file_that_is_not_a_skill_is_refused(access: Access, body: bytes) -> None:
    with site({"/SKILL.md": Answer(body)}) as server, pytest.raises(RefusedError):
        brought(f"{server.url}/SKILL.md", access)


@pytest.mark.parametrize("hostile", [Member("../x", b""), Member("aux.md", b""), Member("a\u202eb", b"")])
def test_i01_a_hostile_archive_at_an_address_is_refused_and_leaves_nothing(
    tmp_path: Path, access: Access, hostile: Member
) -> None:
    with site({"/x.zip": Answer(zip_of(ZipEntry(), ZipEntry(name=hostile.path)))}) as server, pytest.raises(RefusedError):
        brought(f"{server.url}/x.zip", access)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_i36_a_header_of_the_user_dies_at_the_first_foreign_hop(tmp_path: Path) -> None:
    access = reaching(tmp_path, headers=(("X-Api-Key", "s3cret"),))
    with site({"/x.zip": Answer(pack(skill()))}) as other, site({"/x.zip": redirect(f"{other.url}/x.zip")}) as server:
        assert names(brought(f"{server.url}/x.zip", access)) == ["a"]
    assert (server.log[0].headers.get("x-api-key"), other.log[0].headers.get("x-api-key")) == ("s3cret", None)


# --- sites with an index


def entry(name: str, body: bytes, url: str, kind: str = "skill-md") -> dict[str, str]:
    return {"name": name, "type": kind, "description": "d", "url": url, "digest": f"sha256:{hashlib.sha256(body).hexdigest()}"}


INDEX = "/.well-known/agent-skills/index.json"


def index(*entries: dict[str, str], schema: str = SCHEMA) -> Answer:
    return Answer(json.dumps({"$schema": schema, "skills": entries}).encode(), headers={"Content-Type": "application/json"})


def test_a_site_offers_its_skills_by_file_zip_and_tar(access: Access) -> None:
    page, zipped, tarred = skill_text("a").encode(), pack(skill("b", x=b"1")), pack(skill("c"), to=ArchiveFormat.TAR_GZ)
    routes = {
        INDEX: index(
            entry("a", page, "a/SKILL.md"),
            entry("b", zipped, "/files/b.zip", "archive"),
            entry("c", tarred, "c.bin", "archive"),
        ),
        "/.well-known/agent-skills/a/SKILL.md": Answer(page),
        "/files/b.zip": Answer(zipped, headers={"Content-Type": "application/octet-stream"}),
        "/.well-known/agent-skills/c.bin": Answer(tarred),
    }
    with site(routes) as server:  # type: ignore[arg-type]
        got = brought(server.url, access)
        assert names(got) == ["a", "b", "c"]
        assert [one.files for one in got.skills] == [skill("a"), skill("b", x=b"1"), skill("c")]
        assert got.skills[0].origin.kind == "well-known"
        before = len(server.log)
        assert brought(f"{server.url}/.well-known/agent-skills/b", access).skills == got.skills[1:2]
        # The digest is the key of the cache: only the index is asked for again.
        assert [seen.path for seen in server.log[before:]] == [INDEX]


def test_70_a_site_whose_file_is_not_what_the_index_promised_is_refused(access: Access) -> None:
    routes = {INDEX: index(entry("a", b"promised", "a.md")), "/.well-known/agent-skills/a.md": Answer(skill_text("a").encode())}
    with site(routes) as server, pytest.raises(RefusedError) as caught:  # type: ignore[arg-type]
        brought(server.url, access)
    assert caught.value.rule == "digest-mismatch"


def test_71_an_archive_of_a_site_has_its_skill_at_the_top(access: Access) -> None:
    wrapped = pack(many("a", prefix="w"))
    routes = {INDEX: index(entry("a", wrapped, "/a.zip", "archive")), "/a.zip": Answer(wrapped)}
    with site(routes) as server, pytest.raises(RefusedError, match="at its top"):  # type: ignore[arg-type]
        brought(server.url, access)


def test_67_a_site_with_an_unknown_index_stops(access: Access) -> None:
    with site({INDEX: index(schema="https://example.com/9")}) as server, pytest.raises(RefusedError) as caught:
        brought(server.url, access)
    assert caught.value.rule == "well-known-schema"


def test_67_the_old_index_is_read_on_request(tmp_path: Path, access: Access) -> None:
    old = {"skills": [{"name": "a", "description": "d", "files": ["SKILL.md", "references/x y.md"]}]}
    base = "/.well-known/skills"
    routes = {
        f"{base}/index.json": Answer(json.dumps(old).encode()),
        f"{base}/a/SKILL.md": Answer(skill_text("a").encode()),
        f"{base}/a/references/x%20y.md": Answer(b"x"),
    }
    with site(routes) as server:  # type: ignore[arg-type]
        (one,) = brought(server.url, reaching(tmp_path, old_index=True)).skills
        assert [file.path for file in one.files.list()] == ["SKILL.md", "references/x y.md"]
        with pytest.raises(NotFoundError):
            brought(server.url, access)


def test_an_index_may_name_files_of_another_host_but_not_send_the_users_headers_there(tmp_path: Path) -> None:
    page = skill_text("a").encode()
    with site({"/a.md": Answer(page)}) as cdn, site({INDEX: index(entry("a", page, f"{cdn.url}/a.md"))}) as server:
        access = reaching(tmp_path, headers=(("X-Api-Key", "s3cret"),))
        assert names(brought(server.url, access)) == ["a"]
        assert server.log[0].headers["x-api-key"] == "s3cret"
        assert "x-api-key" not in cdn.log[0].headers


def test_i35_an_index_cannot_send_us_into_another_network(access: Access) -> None:
    with site({INDEX: index(entry("a", b"", "http://169.254.169.254/a.md"))}) as server, pytest.raises(RefusedError) as caught:
        brought(server.url, access)
    assert caught.value.rule == "redirect-inside"


def test_a_site_without_an_index_may_be_the_skill_itself(access: Access) -> None:
    with site({"/skill": Answer(pack(skill()))}) as server:
        assert names(brought(f"{server.url}/skill", access)) == ["a"]
        with pytest.raises(HttpNotFoundError) as caught:
            brought(f"{server.url}/other", access)
        assert f"git+{server.url}/other" in caught.value.hint
        assert caught.value.status == 404


def test_a_site_that_answers_everything_with_its_start_page_has_no_index(access: Access) -> None:
    html = Answer(b"<!DOCTYPE html>", headers={"Content-Type": "text/html; charset=utf-8"})
    routes = {INDEX: html, f"/docs{INDEX}": html, "/docs": html}
    with site(routes) as server, pytest.raises(RefusedError, match=r"neither an archive nor a SKILL\.md"):  # type: ignore[arg-type]
        brought(f"{server.url}/docs", access)


# --- registries


def registry(server_url: str, auth: str = "") -> tuple[RegistrySource, ...]:
    return (RegistrySource(name="internal", url=f"{server_url}/skills", auth=auth),)


def test_a_registry_names_the_archive_and_its_version(tmp_path: Path) -> None:
    data = pack(skill())
    with site() as server:
        promised = f"sha256:{hashlib.sha256(data).hexdigest()}"
        wire = {"name": "a", "version": "1.2.0", "download_url": f"{server.url}/skills/a/1.2.0.zip", "digest": promised}
        server.routes |= {
            "/skills/a": Answer(json.dumps(wire).encode()),
            "/skills/a/1.2.0": Answer(json.dumps(wire).encode()),
            "/skills/a/1.2.0.zip": Answer(data),
        }
        access = reaching(tmp_path, sources=registry(server.url, "bearer:${TOKEN}"), variables={"TOKEN": "s3cret"})
        (one,) = brought("internal:a", access).skills
        assert (one.name, one.origin.kind, one.origin.version) == ("a", "registry", "1.2.0")
        assert names(brought("internal:a@1.2.0", access)) == ["a"]
        assert {seen.headers.get("authorization") for seen in server.log} == {"Bearer s3cret"}
        server.routes["/skills/a/1.2.0.zip"] = Answer(data + b"x")
        with pytest.raises(RefusedError) as caught:
            brought("internal:a", access)
        assert caught.value.rule == "digest-mismatch"
        with pytest.raises(SkillNotFoundError):
            brought("internal:b", access)


def test_a_registry_without_an_address_for_its_archive_has_it_under_download(tmp_path: Path) -> None:
    with site({"/skills/a": Answer(b'{"name": "a"}'), "/skills/a/download": Answer(pack(skill()))}) as server:
        assert names(brought("internal:a", reaching(tmp_path, sources=registry(server.url)))) == ["a"]


def test_a_plain_folder_of_skills_behind_a_token_is_a_source_too(tmp_path: Path) -> None:
    with site({"/skills/a/SKILL.md": Answer(skill_text("a").encode())}) as server:
        access = reaching(tmp_path, sources=registry(server.url, "token:${T}"), variables={"T": "s3cret"})
        assert names(brought("internal:a", access)) == ["a"]
        assert server.log[-1].headers["authorization"] == "token s3cret"


def test_a_missing_variable_and_a_missing_source_are_named(tmp_path: Path) -> None:
    access = reaching(tmp_path, sources=registry("http://127.0.0.1:9", "bearer:${INTERNAL_TOKEN}"))
    with pytest.raises(ConfigError, match="INTERNAL_TOKEN"):
        brought("internal:a", access)
    with pytest.raises(ConfigError, match="no registry is configured", check=lambda error: "metier login URL" in error.hint):
        fetch_ref(parse_ref("r9s:a"), access)


# --- many at once


def test_many_refs_are_fetched_in_parallel_and_returned_in_order(access: Access) -> None:
    barrier = threading.Barrier(4, timeout=60)

    def answer(_seen: Seen) -> Answer:
        # Only four requests at the same time get past this.
        barrier.wait()
        return Answer(pack(skill()))

    with site({f"/{number}.zip": answer for number in range(4)}) as server:
        refs = [f"{server.url}/{number}.zip" for number in range(4)]
        assert [ref for ref, _ in list_source(refs, access)] == refs
        with pytest.raises(NotFoundError):
            list_source(["./absent"], access)


def test_progress_is_reported_for_each_ref(access: Access) -> None:
    steps: list[FetchProgress] = []
    with site({"/x.zip": Answer(pack(skill("a", x=os.urandom(200_000))))}) as server:
        brought(f"{server.url}/x.zip", access, progress=steps.append)
        with pytest.raises(NotFoundError):
            brought(f"{server.url}/y.zip", access, progress=steps.append)
    first = [step for step in steps if step.ref.endswith("x.zip")]
    assert (first[0].stage, first[-1].stage, steps[-1].stage) == (FetchStage.FETCHING, FetchStage.DONE, FetchStage.FAILED)
    assert max(step.done for step in first) == max(step.total or 0 for step in first) > 200_000


def test_a_fetched_skill_equals_the_same_folder_on_disk(tmp_path: Path, access: Access) -> None:
    folder = write_skill(tmp_path, "a")
    with site({"/x.zip": Answer(pack(DiskFiles(folder)))}) as server:
        assert brought(f"{server.url}/x.zip", access).skills[0].digest == brought("./a", access).skills[0].digest
