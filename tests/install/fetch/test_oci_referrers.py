"""Signatures beside an artefact: Debian's registry, which lacks the referrers API, one that has it, oras, and metier's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import skill_text, write_skill
from install.oci_registry import docker_registry
from install.servers import Answer, Site, site
from install.sigstore_instance import SigstoreInstance
from metier.archive import Contents, Member
from metier.errors import RefusedError
from metier.install import publish_oci
from metier.install.fetch.bundle_verification import BUNDLE_TYPE, sign_digest
from metier.install.fetch.cache import SkillCache
from metier.install.fetch.credentials import RegistrySource
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.job import Access
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.fetch.oci_client import OciClient
from metier.install.fetch.oci_referrers import find_bundles
from metier.install.fetch.signature_policy import SignaturePolicy
from metier.install.protocols import Fetched, FetchedSkill
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import OciRef
from metier.registry import new_signing_key
from metier.registry.oci_artifact import ArtifactFacts, OciArtifact, build_artifact, oci_digest
from registry.builders import site as registry_site

INDEX = "application/vnd.oci.image.index.v1+json"


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


def reaching(host: str, tmp_path: Path, *, keys: tuple[str, ...] = (), cached: bool = True, **policy: Any) -> Access:
    demanded = SignaturePolicy(source="acme", **policy) if policy else None
    fresh = Access(
        environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, folder=str(tmp_path),
        cache=SkillCache(str(tmp_path / "cache")) if cached else None,
        sources=(RegistrySource(name="acme", url=f"http://{host}/v2/acme", keys=keys, signature=demanded),),
    )  # fmt: skip
    OPEN.append(fresh)
    fresh.http.sleep = lambda _seconds: None
    return fresh


def ref_of(text: str) -> OciRef:
    ref = parse_ref(text)
    assert isinstance(ref, OciRef)
    return ref


def brought(text: str, access: Access) -> Fetched:
    return fetch_ref(ref_of(text), access)


def refused(text: str, access: Access) -> str:
    with pytest.raises(RefusedError) as error:
        brought(text, access)
    assert error.value.rule == "signature"
    return str(error.value)


def folder_of(tmp_path: Path, name: str) -> str:
    folder = write_skill(tmp_path, name)
    (folder / "SKILL.md").write_text(skill_text(name).replace("---\n", "---\nmetadata:\n  version: 1.2.0\n", 1))
    return str(folder)


def test_a_signed_artefact_is_installed_by_its_key_through_the_fallback_tag(registry: str, tmp_path: Path) -> None:
    private, public = new_signing_key()
    home, folder = f"oci://{registry}/acme/forms", folder_of(tmp_path, "forms")
    open_access = reaching(registry, tmp_path)
    publish_oci(folder, ref_of(home), open_access)
    demanding = reaching(registry, tmp_path, keys=(public,))
    assert "it has no signature" in refused(f"{home}:1.2.0", demanding)

    done = publish_oci(folder, ref_of(home), open_access, signing_key=private)
    assert (done.created, bool(done.signed_by)) == (False, True)
    (found,) = brought(f"{home}:1.2.0", demanding).skills
    assert found.signed_by == (f"the key {done.signed_by}",)
    # Signing again adds nothing; another key is added to the first.
    publish_oci(folder, ref_of(home), open_access, signing_key=private)
    other, other_public = new_signing_key()
    publish_oci(folder, ref_of(home), open_access, signing_key=other)
    client = OciClient(ref=done.ref, access=open_access)
    assert len(list(find_bundles(client, done.ref.digest or ""))) == 2
    assert brought(f"{home}:1.2.0", reaching(registry, tmp_path, keys=(other_public,))).skills
    assert brought(f"{home}:1.2.0", reaching(registry, tmp_path, keys=(public,), cached=False)).skills
    _, foreign = new_signing_key()
    said = refused(f"{home}:1.2.0", reaching(registry, tmp_path / "a", keys=(foreign,)))
    assert said == "forms is refused: its signature is not by a key that [skills.sources.acme] names"


def test_a_restore_from_the_cache_remembers_the_signature_of_its_policy_only(registry: str, tmp_path: Path) -> None:
    from install.builders import installed, store_in
    from metier.install.prepare import prepare

    private, public = new_signing_key()
    home, folder = f"oci://{registry}/acme/notes", folder_of(tmp_path, "notes")
    publish_oci(folder, ref_of(home), reaching(registry, tmp_path), signing_key=private)
    access = reaching(registry, tmp_path, keys=(public,))
    store = store_in(tmp_path / "home")
    (found,) = brought(f"{home}:1.2.0", access).skills
    installed(store, prepare(found, asked=home))
    (restored,) = LockFetcher(access).exact([store.lock()["notes"]])
    assert isinstance(restored, FetchedSkill)
    _, foreign = new_signing_key()
    (error,) = LockFetcher(reaching(registry, tmp_path, keys=(foreign,))).exact([store.lock()["notes"]])
    assert isinstance(error, RefusedError)


def test_oras_attaches_a_bundle_that_metier_accepts(registry: str, tmp_path: Path) -> None:
    """The other side: oras pushes the bundle with a subject; it keeps no fallback tag, so the test's index does."""
    private, public = new_signing_key()
    home, folder = f"oci://{registry}/acme/tides", folder_of(tmp_path, "tides")
    access = reaching(registry, tmp_path, keys=(public,))
    done = publish_oci(folder, ref_of(home), access)
    manifest = done.skill.artifact.manifest
    (tmp_path / "bundle.json").write_bytes(sign_digest("tides", oci_digest(manifest), private))
    code = f"""
import oras.client, oras.oci
client = oras.client.OrasClient(insecure=True)
kind = "application/vnd.oci.image.manifest.v1+json"
subject = oras.oci.Subject(mediaType=kind, digest="{oci_digest(manifest)}", size={len(manifest)})
target, files = "{registry}/acme/tides:bundle", ["bundle.json:{BUNDLE_TYPE}"]
answer = client.push(target=target, files=files, subject=subject, disable_path_validation=True)
assert answer.status_code in (200, 201)
"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    client = OciClient(ref=ref_of(home), access=access)
    body, kind = client.manifest("bundle")
    assert json.loads(body)["subject"]["digest"] == oci_digest(manifest)
    row = {"mediaType": kind, "digest": oci_digest(body), "size": len(body)}
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [row]}).encode()
    client.push_manifest(index, INDEX, oci_digest(manifest).replace(":", "-"))
    assert brought(f"{home}:1.2.0", access).skills[0].signed_by


class Referrers:
    """A registry with the referrers API, and one artefact."""

    def __init__(self, server: Site) -> None:
        self.server, self.base = server, "/v2/acme/notes"
        facts = ArtifactFacts(name="notes", version="1.0.0", description="d", license="", digest="", created="")
        self.artifact: OciArtifact = build_artifact(facts, Contents([Member("SKILL.md", skill_text("notes").encode())]))
        for data in (self.artifact.layer, self.artifact.config):
            server.routes[f"{self.base}/blobs/{oci_digest(data)}"] = Answer(data)
        for name in ("1.0.0", self.digest):
            server.routes[f"{self.base}/manifests/{name}"] = Answer(self.artifact.manifest)

    @property
    def digest(self) -> str:
        return oci_digest(self.artifact.manifest)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def attach(self, *bundles: bytes, artifact_type: str = BUNDLE_TYPE) -> None:
        rows = []
        for bundle in bundles:
            layer = {"mediaType": BUNDLE_TYPE, "digest": oci_digest(bundle), "size": len(bundle)}
            manifest = json.dumps({"schemaVersion": 2, "layers": [layer]}).encode()
            self.server.routes[f"{self.base}/blobs/{oci_digest(bundle)}"] = Answer(bundle)
            self.server.routes[f"{self.base}/manifests/{oci_digest(manifest)}"] = Answer(manifest)
            rows.append({"mediaType": "x", "digest": oci_digest(manifest), "size": 1, "artifactType": artifact_type})
        body = json.dumps({"schemaVersion": 2, "manifests": rows}).encode()
        self.server.routes[f"{self.base}/referrers/{self.digest}"] = Answer(body, headers={"Content-Type": INDEX})


@pytest.fixture
def here() -> Iterator[Referrers]:
    with site() as server:
        yield Referrers(server)


def test_a_sigstore_identity_signs_an_artefact(here: Referrers, tmp_path: Path) -> None:
    instance = SigstoreInstance()
    root = str(instance.write_root(tmp_path / "root.json"))
    subject = {"name": "x", "digest": {"sha256": here.digest.removeprefix("sha256:")}}
    statement = json.dumps({"subject": [subject], "predicateType": "https://sigstore.dev/cosign/sign/v1"}).encode()
    signed = instance.sign(statement, identity="ada@acme.example", issuer="https://id.example")
    elsewhere = json.dumps({"subject": [{"digest": {"sha256": "0" * 64}}]}).encode()
    other = instance.sign(elsewhere, identity="ada@acme.example", issuer="https://id.example")
    policy: dict[str, Any] = {"identities": ("*@acme.example",), "issuer": "https://id.example", "trusted_root": root}
    here.attach(b"{}", other, signed)
    (found,) = brought(f"oci://{here.host}/acme/notes:1.0.0", reaching(here.host, tmp_path, **policy)).skills
    assert found.signed_by == ("ada@acme.example (https://id.example)",)
    here.attach(other)
    fresh = tmp_path / "fresh"
    assert "its signature is for another artefact" in refused(
        f"oci://{here.host}/acme/notes:1.0.0", reaching(here.host, fresh, **policy)
    )
    here.attach(signed, artifact_type="application/spdx+json")
    assert "it has no signature" in refused(f"oci://{here.host}/acme/notes:1.0.0", reaching(here.host, fresh, **policy))


def test_what_lies_among_the_referrers_is_passed_over(here: Referrers, tmp_path: Path) -> None:
    private, public = new_signing_key()
    good = sign_digest("notes", here.digest, private)
    here.attach(b"not a bundle", good)
    listed = json.loads(here.server.routes[f"{here.base}/referrers/{here.digest}"].body)  # type: ignore[union-attr]
    lost = {"mediaType": "x", "digest": f"sha256:{'1' * 64}", "size": 1, "artifactType": BUNDLE_TYPE}
    here.server.routes[f"{here.base}/referrers/{here.digest}"] = Answer(
        json.dumps({"manifests": [lost, *listed["manifests"]]}).encode()
    )
    access = reaching(here.host, tmp_path, keys=(public,))
    assert brought(f"oci://{here.host}/acme/notes:1.0.0", access).skills[0].signed_by
    here.server.routes[f"{here.base}/referrers/{here.digest}"] = Answer(b'{"manifests": 5}')
    with pytest.raises(RefusedError, match=r"manifest of .* cannot be read"):
        brought(f"oci://{here.host}/acme/notes:1.0.0", reaching(here.host, tmp_path / "a", keys=(public,)))


def test_metiers_own_registry_answers_that_nothing_refers_to_a_release(tmp_path: Path) -> None:
    with registry_site(tmp_path) as found:
        found.publish("pdf", "1.0.0", query="namespace=acme&visibility=public")
        answer = found.get(f"/v2/acme/pdf/referrers/sha256:{'0' * 64}")
        assert (answer.status_code, answer.json()["manifests"]) == (200, [])
        assert answer.headers["content-type"] == INDEX
        assert found.get(f"/v2/acme/none/referrers/sha256:{'0' * 64}", token=found.admin).status_code == 404
