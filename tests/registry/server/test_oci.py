"""The OCI pull API of a registry: manifests, blobs and tags, with and without a right; and oras on a real server."""

from __future__ import annotations

import base64
import json
import os
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from install.oci_registry import docker_config, oras_pull
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.http import HttpRefusedError
from metier.install.fetch.job import Access
from metier.install.refs.parsing import parse_ref
from metier.registry.oci_artifact import oci_digest
from registry.builders import Site, archive, site
from registry.server_process import serve


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def basic(token: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"any:{token}".encode()).decode()}


def layer_of(answer: Any) -> str:
    return str(answer.json()["layers"][0]["digest"])


def test_every_blob_has_the_digest_and_size_that_its_manifest_names(here: Site) -> None:
    assert here.get("/v2/").json() == {}
    here.publish("pdf", "1.0.0", query="namespace=acme&visibility=public")
    here.publish("pdf", "1.1.0", query="namespace=acme&visibility=public", files={"a.txt": "more"})
    assert here.get("/v2/acme/pdf/tags/list").json() == {"name": "acme/pdf", "tags": ["1.1.0", "1.0.0", "latest"]}
    found = {version: here.get(f"/v2/acme/pdf/manifests/{version}") for version in ("1.0.0", "1.1.0", "latest")}
    assert found["latest"].content == found["1.1.0"].content
    for answer in found.values():
        digest = answer.headers["docker-content-digest"]
        assert digest == oci_digest(answer.content)
        assert here.get(f"/v2/acme/pdf/manifests/{digest}").content == answer.content
        head = here.send("HEAD", f"/v2/acme/pdf/manifests/{digest}")
        assert (head.content, head.headers["content-length"]) == (b"", str(len(answer.content)))
        for row in (answer.json()["config"], *answer.json()["layers"]):
            blob = here.get(f"/v2/acme/pdf/blobs/{row['digest']}")
            assert (oci_digest(blob.content), len(blob.content)) == (row["digest"], row["size"])
            assert blob.headers["content-type"] == row["mediaType"]


@pytest.mark.parametrize(
    "path",
    ["/v2/acme/pdf/manifests/9.9.9", f"/v2/acme/pdf/manifests/sha256:{'0' * 64}", f"/v2/acme/pdf/blobs/sha256:{'0' * 64}",
     "/v2/other/pdf/manifests/1.0.0", "/v2/acme/none/tags/list", "/v2/acme/pdf/blobs/x"],
)  # fmt: skip
def test_what_is_not_there_is_an_error_that_oci_clients_read(path: str, here: Site) -> None:
    here.publish("pdf", "1.0.0", query="namespace=acme&visibility=public")
    answer = here.get(path, token=here.admin)
    assert answer.status_code == 404
    assert [set(one) for one in answer.json()["errors"]] == [{"code", "message", "detail"}]


def test_a_private_skill_is_as_good_as_missing_without_a_right(here: Site) -> None:
    here.publish("secret", "1.0.0", query="namespace=acme")
    own, other = here.token("acme", "read:acme"), here.token("other", "read:other")
    digest = here.get("/v2/acme/secret/manifests/1.0.0", token=own).headers["docker-content-digest"]
    layer = layer_of(here.get("/v2/acme/secret/manifests/1.0.0", headers=basic(own)))
    for path in ("manifests/1.0.0", f"manifests/{digest}", f"blobs/{layer}", "tags/list"):
        assert here.get(f"/v2/acme/secret/{path}", headers=basic(own)).status_code == 200
        assert here.get(f"/v2/acme/secret/{path}", headers=basic(other)).status_code == 404
        assert here.get(f"/v2/acme/secret/{path}", token=other).status_code == 404
        asked = here.get(f"/v2/acme/secret/{path}")
        assert (asked.status_code, asked.headers["www-authenticate"]) == (401, 'Basic realm="metier"')
        missing = here.get(f"/v2/acme/missing/{path}")
        assert (missing.status_code, missing.json()) == (401, asked.json())
    assert here.get("/v2/", headers=basic("mtr_wrong")).status_code == 401
    assert here.get("/v2/", headers={"authorization": "Basic ???"}).status_code == 401
    # Only these routes take a login: elsewhere a browser could send one by itself.
    assert here.get("/skills/secret", headers=basic(own)).status_code == 401


def test_a_yanked_version_is_pulled_only_by_its_name(here: Site) -> None:
    here.publish("pdf", "1.0.0", query="namespace=acme&visibility=public")
    assert here.post("/skills/pdf/versions/1.0.0/yank", token=here.admin, json={"reason": "bad"}).status_code < 300
    assert here.get("/v2/acme/pdf/tags/list").json()["tags"] == []
    assert here.get("/v2/acme/pdf/manifests/1.0.0").status_code == 200
    assert here.get("/v2/acme/pdf/manifests/latest", token=here.admin).status_code == 404


def test_oras_and_metier_pull_from_a_real_server(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        url = f"{server.url}/skills?namespace=acme"
        data, bearer = archive("pdf", "1.0.0", files={"run.sh": "true\n"}), {"Authorization": f"Bearer {server.token}"}
        with urllib.request.urlopen(
            urllib.request.Request(url, data=data, headers=bearer, method="POST"), timeout=60
        ) as answer:
            assert answer.status == 201
        host = server.url.removeprefix("http://")
        access = Access(environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, folder=str(tmp_path))
        with pytest.raises(HttpRefusedError, match="denies access"):
            fetch_ref(parse_ref(f"oci://{host}/acme/pdf:1.0.0"), access)
        docker_config(tmp_path, host)
        config = tmp_path / ".docker/config.json"
        login = base64.b64encode(f"any:{server.token}".encode()).decode()
        config.write_text(json.dumps({"auths": {host: {"auth": login}}}))
        (found,) = fetch_ref(parse_ref(f"oci://{host}/acme/pdf:1.0.0"), access).skills
        access.http.close()
        assert (found.name, found.origin.version) == ("pdf", "1.0.0")
        oras_pull(f"{host}/acme/pdf:1.0.0", tmp_path / "pulled", login=f"any:{server.token}")
    with tarfile.open(tmp_path / "pulled/pdf") as tar:
        assert sorted(tar.getnames()) == ["pdf/SKILL.md", "pdf/run.sh"]
