"""Publishing to a real OCI registry, and what oras and metier get from it."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import skill_text, write_skill
from install.oci_registry import docker_config, docker_registry, oras_pull
from metier.errors import ConflictError, InvalidSkillError, SkillNotFoundError, UsageError
from metier.install import OciPublishResult, publish_oci
from metier.install.fetch.dispatch import fetch_ref
from metier.install.fetch.http import HttpRefusedError
from metier.install.fetch.job import Access
from metier.install.fetch.oci_client import OciClient
from metier.install.refs.parsing import parse_ref
from metier.install.refs.ref_types import OciRef
from metier.registry import PublishOptions
from metier.registry.oci_artifact import oci_digest

HEAD = "license: MIT\nmetadata:\n  version: 1.2.0\n"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    with docker_registry(tmp_path / "registry", password=True) as host:
        docker_config(tmp_path, host)
        yield host


@pytest.fixture
def access(tmp_path: Path) -> Iterator[Access]:
    fresh = Access(environment={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, folder=str(tmp_path))
    yield fresh
    fresh.http.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write_skill(tmp_path, "fill-forms")
    (made / "SKILL.md").write_text(skill_text("fill-forms").replace("---\n", f"---\n{HEAD}", 1))
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    return made


def ref_of(text: str) -> OciRef:
    ref = parse_ref(text)
    assert isinstance(ref, OciRef)
    return ref


def push(folder: Path, text: str, access: Access, **options: object) -> OciPublishResult:
    return publish_oci(str(folder), ref_of(text), access, PublishOptions(**options))  # type: ignore[arg-type]


def test_a_pushed_skill_is_pulled_by_oras_and_installed_by_metier(
    registry: str, folder: Path, access: Access, tmp_path: Path
) -> None:
    home = f"oci://{registry}/acme/fill-forms"
    planned = push(folder, home, access, dry_run=True)
    with pytest.raises(SkillNotFoundError):
        fetch_ref(ref_of(f"{home}:1.2.0"), access)
    done = push(folder, home, access)
    assert (done.ref.tag, done.created, done.ref.digest) == ("1.2.0", True, planned.ref.digest)
    assert push(folder, home, access).created is False

    oras_pull(f"{registry}/acme/fill-forms:1.2.0", tmp_path / "pulled", login="user:secret")
    # The library unpacks only layers of one media type; the oras program goes by the annotation.
    with tarfile.open(tmp_path / "pulled/fill-forms") as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    assert (tmp_path / "unpacked/fill-forms/SKILL.md").read_bytes() == (folder / "SKILL.md").read_bytes()
    assert os.access(tmp_path / "unpacked/fill-forms/run.sh", os.X_OK)

    (found,) = fetch_ref(ref_of(f"{home}@{done.ref.digest}"), access).skills
    assert (found.name, found.origin.version, found.origin.path) == ("fill-forms", "1.2.0", "")
    assert sorted(entry.path for entry in found.files.list()) == ["SKILL.md", "run.sh"]
    body, _ = OciClient(ref=done.ref, access=access).manifest("1.2.0")
    assert oci_digest(body) == done.ref.digest
    annotations = json.loads(body)["annotations"]
    assert annotations["org.opencontainers.image.licenses"] == "MIT"
    assert annotations["org.opencontainers.image.created"] == "1970-01-01T00:00:00Z"

    (folder / "run.sh").write_text("#!/bin/sh\ntrue\n")
    with pytest.raises(ConflictError, match="exists with other files"):
        push(folder, home, access)
    assert push(folder, f"{home}:beta", access).created
    assert push(folder, home, access, version="1.3.0").ref.tag == "1.3.0"


def test_without_a_login_nothing_is_pushed(registry: str, folder: Path, tmp_path: Path) -> None:
    without = Access(environment={"HOME": str(tmp_path / "none")}, folder=str(tmp_path))
    with pytest.raises(HttpRefusedError, match="denies access") as error:
        push(folder, f"oci://{registry}/a", without)
    without.http.close()
    assert f"docker login {registry}" in error.value.hint


def test_a_bad_skill_is_refused_before_anything_is_sent(folder: Path, access: Access) -> None:
    nowhere = "oci://127.0.0.1:1/a"
    with pytest.raises(UsageError, match="names a digest"):
        push(folder, f"{nowhere}@sha256:{'0' * 64}", access)
    (folder / "key.txt").write_text("ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5" + "\n")
    with pytest.raises(InvalidSkillError, match="secrets"):
        push(folder, nowhere, access)
    (folder / "key.txt").unlink()
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text().replace("1.2.0", "one"))
    assert push(folder, nowhere, access, dry_run=True).skill.is_refused
    with pytest.raises(InvalidSkillError, match="cannot be published"):
        push(folder, nowhere, access)
