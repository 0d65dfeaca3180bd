"""Skills from an OCI registry: a real one with oras as the other side, and one that lies."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text, write_skill
from install.oci_registry import LOGIN, docker_config, docker_registry, oras_push
from install.servers import Answer, Seen, Site, redirect, site
from metier.archive import ArchiveFormat, Contents, Member, pack
from metier.errors import RefusedError, SkillNotFoundError, UnavailableError
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.credentials import RegistrySource
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.http import HttpRefusedError
from metier.install.fetch.job import Access
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.lock.lock_file import Lock, LockEntry, parse_lock, render_lock
from metier.install.protocols import Fetched, FetchedSkill
from metier.install.refs.parsing import parse_ref

TAR_GZ = "application/vnd.oci.image.layer.v1.tar+gzip"
SKILL = "application/vnd.agentskills.skill.content.v1.tar+gzip"
TITLE = "org.opencontainers.image.title"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with docker_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


OPEN: list[Access] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Closes the connections that docker-registry keeps alive."""
    yield
    while OPEN:
        OPEN.pop().http.close()


def reaching(tmp_path: Path, *, variables: Mapping[str, str] | None = None, **options: Any) -> Access:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **(variables or {})}
    fresh = Access(
        environment=environment, folder=str(tmp_path), cache=SkillCache(str(tmp_path / "cache")), timeout=20.0, **options
    )
    OPEN.append(fresh)
    fresh.http.sleep = lambda _seconds: None
    return fresh


def brought(text: str, access: Access, **options: Any) -> Fetched:
    return fetch_ref(parse_ref(text), access, **options)


def names(fetched: Fetched) -> list[str]:
    return [one.name for one in fetched.skills]


def locked(found: FetchedSkill, asked: str) -> LockEntry:
    """Returns the skill as a lock file has it."""
    entry = LockEntry(name=found.name, origin=found.origin, digest=found.digest, files=found.files.hashes, asked=asked)  # type: ignore[attr-defined]
    return parse_lock(render_lock(Lock({entry.name: entry})), file="metier.lock")[entry.name]


# --- with oras and docker-registry


def test_what_oras_pushes_as_a_folder_is_installed_pinned_restored_and_updated(registry: str, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "fill-forms")
    (folder / "scripts").mkdir()
    (folder / "scripts/run.sh").write_text("#!/bin/sh\n")
    (folder / "scripts/run.sh").chmod(0o755)
    target = f"{registry}/team/fill-forms:1.0"
    oras_push(target, "fill-forms", folder=tmp_path)
    access = reaching(tmp_path)
    (found,) = brought(f"oci://{target}", access).skills
    assert found.name == "fill-forms"
    assert found.origin.kind == "oci"
    assert found.origin.url == f"oci://{registry}/team/fill-forms"
    assert found.origin.commit.startswith("sha256:")
    assert {entry.path: entry.executable for entry in found.files.list()} == {"SKILL.md": False, "scripts/run.sh": True}
    entry = locked(found, f"oci://{target}")

    (folder / "SKILL.md").write_text(skill_text("fill-forms") + "\nMore.\n")
    oras_push(target, "fill-forms", folder=tmp_path)
    (newest,) = LockFetcher(access).latest([entry])
    assert isinstance(newest, FetchedSkill)
    assert newest.origin.commit != entry.origin.commit
    assert newest.origin.ref == "1.0"
    (outdated,) = LockFetcher(access).newest([entry])
    assert outdated.digest == newest.digest
    # By the locked digest, on a machine with an empty cache, although the tag has moved.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (old,) = LockFetcher(reaching(elsewhere)).exact([entry])
    assert isinstance(old, FetchedSkill)
    assert old.digest == entry.digest


def test_files_that_oras_pushes_one_by_one_are_a_skill(registry: str, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "by-file")
    (folder / "assets").mkdir()
    (folder / "assets/form.zip").write_bytes(pack(Contents([Member("x", b"x")])))
    oras_push(f"{registry}/by-file:latest", "SKILL.md", "assets/form.zip", folder=folder)
    (found,) = brought(f"oci://{registry}/by-file", reaching(tmp_path)).skills
    assert found.name == "by-file"
    assert sorted(entry.path for entry in found.files.list()) == ["SKILL.md", "form.zip"]  # this oras keeps names only


def test_an_unknown_tag_is_not_found_and_offline_has_what_was_fetched(registry: str, tmp_path: Path) -> None:
    write_skill(tmp_path, "notes")
    oras_push(f"{registry}/notes:1", "notes", folder=tmp_path)
    with pytest.raises(SkillNotFoundError) as error:
        brought(f"oci://{registry}/notes:2", reaching(tmp_path))
    assert f"{registry} has no notes:2" in error.value.hint
    assert names(brought(f"oci://{registry}/notes:1", reaching(tmp_path))) == ["notes"]
    assert names(brought(f"oci://{registry}/notes:1", reaching(tmp_path, offline=True))) == ["notes"]
    with pytest.raises(UnavailableError, match="not in the cache"):
        brought(f"oci://{registry}/notes:3", reaching(tmp_path, offline=True))


def test_a_login_of_docker_opens_a_registry_with_a_password(tmp_path: Path) -> None:
    write_skill(tmp_path, "notes")
    with docker_registry(tmp_path / "registry", password=True) as host:
        oras_push(f"{host}/notes:1", "notes", folder=tmp_path, login="user:secret")
        with pytest.raises(HttpRefusedError, match="denies access to notes") as error:
            brought(f"oci://{host}/notes:1", reaching(tmp_path))
        assert f"docker login {host}" in error.value.hint
        header = (("Authorization", f"Basic {LOGIN}"),)
        given = reaching(tmp_path / "a", headers=header, header_origin=f"http://{host}")
        assert names(brought(f"oci://{host}/notes:1", given)) == ["notes"]
        docker_config(tmp_path, host)
        assert names(brought(f"oci://{host}/notes:1", reaching(tmp_path))) == ["notes"]
        file = {"REGISTRY_AUTH_FILE": str(tmp_path / "none.json")}
        with pytest.raises(HttpRefusedError):
            brought(f"oci://{host}/notes:1", reaching(tmp_path, variables=file))


# --- a registry of our own making


def blob(here: Site, repository: str, data: bytes, media_type: str = SKILL, **more: Any) -> dict[str, Any]:
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    here.routes[f"/v2/{repository}/blobs/{digest}"] = Answer(data)
    return {"mediaType": media_type, "digest": digest, "size": len(data), **more}


def manifest(here: Site, repository: str, tag: str, **fields: Any) -> dict[str, Any]:
    body = json.dumps({"schemaVersion": 2, **fields}).encode()
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    for reference in (tag, digest):
        here.routes[f"/v2/{repository}/manifests/{reference}"] = Answer(body)
    return {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": len(body)}


def archive(name: str = "a", **files: bytes) -> bytes:
    members = [Member("SKILL.md", skill_text(name).encode()), *(Member(path, data) for path, data in files.items())]
    return pack(Contents(members), to=ArchiveFormat.TAR_GZ)


def tar_gz(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, data in files.items():
            row = tarfile.TarInfo(path)
            row.size = len(data)
            tar.addfile(row, io.BytesIO(data))
    return gzip.compress(out.getvalue())


def host_of(here: Site) -> str:
    return here.url.removeprefix("http://")


def test_the_version_of_an_artefact_is_its_annotation(tmp_path: Path) -> None:
    with site() as here:
        annotations = {"org.opencontainers.image.version": "1.4.0"}
        manifest(here, "a", "v", layers=[blob(here, "a", archive())], annotations=annotations)
        (found,) = brought(f"oci://{host_of(here)}/a:v", reaching(tmp_path)).skills
    assert found.origin.version == "1.4.0"


def test_the_layers_of_an_image_lie_on_top_of_each_other(tmp_path: Path) -> None:
    with site() as here:
        below = tar_gz(**{"SKILL.md": b"old", "gone.txt": b"x", "d/a": b"a", "d/b": b"b"})
        above = tar_gz(**{"SKILL.md": skill_text("a").encode(), ".wh.gone.txt": b"", "d/.wh..wh..opq": b"", "d/c": b"c"})
        manifest(here, "a", "1", layers=[blob(here, "a", below, TAR_GZ), blob(here, "a", above, TAR_GZ)])
        (found,) = brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path)).skills
    assert sorted(entry.path for entry in found.files.list()) == ["SKILL.md", "d/c"]


def test_an_index_leads_to_one_of_its_platforms_and_not_to_an_attestation(tmp_path: Path) -> None:
    with site() as here:
        image = manifest(here, "a", "x", layers=[blob(here, "a", archive())])
        other = {**manifest(here, "a", "y", layers=[]), "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
        index = manifest(here, "a", "1", manifests=[other, image])
        (found,) = brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path)).skills
    assert found.name == "a"
    assert found.origin.commit == index["digest"]


def test_an_index_of_several_skills_offers_each(tmp_path: Path) -> None:
    with site() as here:
        kind = "application/vnd.agentskills.skill.v1"
        rows = [
            {**manifest(here, "s", name, layers=[blob(here, "s", archive(name))]), "artifactType": kind,
             "annotations": {TITLE: name}}
            for name in ("one", "two")
        ]  # fmt: skip
        manifest(here, "s", "1", manifests=rows)
        fetched = brought(f"oci://{host_of(here)}/s:1", reaching(tmp_path))
    assert [(skill.name, skill.origin.path) for skill in fetched.skills] == [("one", "one"), ("two", "two")]


@pytest.mark.parametrize("what", ["layer", "manifest", "size"])
def test_bytes_with_another_digest_or_size_are_refused(what: str, tmp_path: Path) -> None:
    with site() as here:
        layer = blob(here, "a", archive())
        if what == "size":
            layer["size"] = 10
        pinned = manifest(here, "a", "1", layers=[layer])["digest"]
        if what == "layer":
            here.routes[f"/v2/a/blobs/{layer['digest']}"] = Answer(archive("b"))
        if what == "manifest":
            here.routes[f"/v2/a/manifests/{pinned}"] = Answer(b'{"layers": []}')
        with pytest.raises(RefusedError) as error:
            brought(f"oci://{host_of(here)}/a@{pinned}", reaching(tmp_path))
    assert error.value.rule == ("download-size" if what == "size" else "digest-mismatch")


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b'{"layers": 1}', b'{"layers": [{"digest": "sha256:x", "size": 1}]}', b'{"layers": [{}]}',
     b'{"layers": [{"digest": "md5:1", "size": -1}]}', b"[" * 5000],
)  # fmt: skip
def test_a_manifest_that_is_none_is_one_sentence(body: bytes, tmp_path: Path) -> None:
    with site({"/v2/a/manifests/latest": Answer(body)}) as here, pytest.raises(RefusedError, match="cannot be read"):
        brought(f"oci://{host_of(here)}/a", reaching(tmp_path))


def test_an_artefact_that_is_no_skill_is_refused(tmp_path: Path) -> None:
    with site() as here:
        manifest(here, "a", "1", layers=[blob(here, "a", b"\x7fELF", "application/octet-stream")])
        manifest(here, "a", "2", layers=[])
        manifest(here, "a", "3", layers=[blob(here, "a", b"x", annotations={TITLE: "../SKILL.md"})])
        with pytest.raises(RefusedError, match=r"neither a tar\+gzip nor a named file"):
            brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path))
        with pytest.raises(SkillNotFoundError):
            brought(f"oci://{host_of(here)}/a:2", reaching(tmp_path))
        with pytest.raises(RefusedError):
            brought(f"oci://{host_of(here)}/a:3", reaching(tmp_path))


# --- tokens


def guarded(here: Site, realm: str, *, token: str = "t0ken") -> None:
    """Makes every route of a registry want a token of the realm."""
    challenge = f'Bearer realm="{realm}",service="reg",scope="repository:a:pull"'
    for path, answer in list(here.routes.items()):

        def route(seen: Seen, answer: Any = answer) -> Answer:
            if seen.headers.get("authorization") == f"Bearer {token}":
                return answer  # type: ignore[no-any-return]
            return Answer(status=401, headers={"WWW-Authenticate": challenge})

        here.routes[path] = route


def test_a_challenge_is_followed_without_credentials_and_the_token_is_used_again(tmp_path: Path) -> None:
    with site() as here, site({"/token": Answer(b'{"token": "t0ken"}')}) as realm:
        manifest(here, "a", "1", layers=[blob(here, "a", archive())])
        guarded(here, f"{realm.url}/token")
        assert names(brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path))) == ["a"]
        (asked,) = realm.log
    assert asked.path == "/token?service=reg&scope=repository%3Aa%3Apull"
    assert "authorization" not in asked.headers


def test_a_stored_login_goes_to_the_realm_and_a_header_of_the_user_does_not(tmp_path: Path) -> None:
    with site() as here, site({"/token": Answer(b'{"access_token": "t0ken"}')}) as realm:
        manifest(here, "a", "1", layers=[blob(here, "a", archive())])
        guarded(here, f"{realm.url}/token")
        host = host_of(here)
        mine = (("Authorization", "Bearer mine"),)
        assert names(brought(f"oci://{host}/a:1", reaching(tmp_path / "x", headers=mine))) == ["a"]
        source = RegistrySource(name="s", url=f"{here.url}/v2", auth="bearer:kept")
        assert names(brought(f"oci://{host}/a:1", reaching(tmp_path / "y", sources=(source,)))) == ["a"]
        docker_config(tmp_path, host)
        assert names(brought(f"oci://{host}/a:1", reaching(tmp_path))) == ["a"]
    assert [seen.headers.get("authorization") for seen in realm.log] == [None, None, f"Basic {LOGIN}"]


@pytest.mark.parametrize(
    "realm", ["file:///etc/passwd", "gopher://x", "", "https://user:secret@example.com/", "http://169.254.169.254/latest"]
)
def test_a_realm_that_leads_elsewhere_is_refused(realm: str, tmp_path: Path) -> None:
    with site() as here:
        manifest(here, "a", "1", layers=[])
        guarded(here, realm)
        docker_config(tmp_path, host_of(here))
        with pytest.raises(RefusedError):
            brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path))


@pytest.mark.parametrize("answer", [b"{}", b"x", b'{"token": "a\\nb"}', b'{"token": 1}'])
def test_a_realm_without_a_token_is_one_sentence(answer: bytes, tmp_path: Path) -> None:
    with site({"/token": Answer(answer)}) as here:
        manifest(here, "a", "1", layers=[])
        guarded(here, f"{here.url}/token")
        here.routes["/token"] = Answer(answer)
        with pytest.raises(UnavailableError, match="gave no token"):
            brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path))


def test_a_blob_may_be_on_another_host_which_gets_no_credentials(tmp_path: Path) -> None:
    with site() as here, site() as store:
        layer = blob(here, "a", archive())
        path = f"/v2/a/blobs/{layer['digest']}"
        store.routes["/blob"] = here.routes[path]
        here.routes[path] = redirect(f"{store.other}/blob")
        manifest(here, "a", "1", layers=[layer])
        header = (("Authorization", "Basic x"),)
        assert names(brought(f"oci://{host_of(here)}/a:1", reaching(tmp_path, headers=header))) == ["a"]
        (seen,) = store.log
    assert "authorization" not in seen.headers


def test_another_machine_is_asked_over_https_and_over_http_only_with_the_option() -> None:
    from metier.install.fetch.oci_client import api_url

    assert api_url("oci://ghcr.io/o/r", insecure=False) == "https://ghcr.io/v2/o/r"
    assert api_url("oci://ghcr.io/o/r", insecure=True) == "http://ghcr.io/v2/o/r"
    assert api_url("oci://localhost:5000/r", insecure=False) == "http://localhost:5000/v2/r"
    assert api_url("oci://docker.io/library/r", insecure=False) == "https://registry-1.docker.io/v2/library/r"


@pytest.mark.parametrize(
    ("place", "repository", "finds"),
    [("h", "a/b", True), ("https://h", "a/b", True), ("h/a", "a/b", True), ("h/a", "b", False), ("h/a", "ab", False),
     ("other", "a", False)],
)  # fmt: skip
def test_a_login_is_for_its_host_or_a_part_of_it(place: str, repository: str, finds: bool, tmp_path: Path) -> None:
    from metier.install.fetch.docker_logins import docker_login

    docker_config(tmp_path, place)
    assert bool(docker_login("h", repository, {"HOME": str(tmp_path)})) is finds


def test_a_broken_login_file_counts_as_none(tmp_path: Path) -> None:
    from metier.install.fetch.docker_logins import docker_login

    (tmp_path / "config.json").write_text("[")
    (tmp_path / "helper.json").write_text('{"auths": {"h": {}, "i": {"auth": "?"}}, "credsStore": "x"}')
    for name in ("config.json", "helper.json", "missing.json"):
        assert docker_login("h", "a", {"REGISTRY_AUTH_FILE": str(tmp_path / name)}) == ""
    (tmp_path / "hub.json").write_text(json.dumps({"auths": {"https://index.docker.io/v1/": {"auth": LOGIN}}}))
    assert docker_login("docker.io", "library/a", {"REGISTRY_AUTH_FILE": str(tmp_path / "hub.json")}) == f"Basic {LOGIN}"
