"""`metier publish` in a CI job, with a registry that runs and an issuer of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.shell import ForkServer, Shell
from metier.registry.domain.registry import now_millis
from registry.identity_providers import FakeProvider, fake_provider
from registry.server_process import ServerProcess, serve
from registry.servers import free_port

JOB = {
    "sub": "repo:acme/skills", "repository": "acme/skills", "repository_id": "7", "ref": "refs/heads/main", "sha": "c0ffee",
    "workflow_ref": "acme/skills/.github/workflows/release.yml@refs/heads/main", "event_name": "push", "run_id": "12",
}  # fmt: skip
SKILL = "---\nname: tide-tables\ndescription: Reads tide tables well\nmetadata:\n  version: 1.0.0\n---\n\n# Tides\n"


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with fake_provider() as made:
        now = now_millis() // 1000
        made.job = {"iss": made.issuer, "iat": now, "exp": now + 3_600, **JOB}
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, provider: FakeProvider) -> Iterator[ServerProcess]:
    home, port = tmp_path_factory.mktemp("home"), free_port()
    settings = f'[registry]\nurl = "http://127.0.0.1:{port}"\ntrusted_issuers = ["{provider.issuer}"]\n'
    (home / "config.toml").write_text(settings)
    with serve(home, "--port", str(port)) as made:
        yield made


@pytest.fixture(scope="module")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    parent = ForkServer(tmp_path_factory.mktemp("fork_server"))
    yield parent
    parent.end()


def test_a_job_publishes_without_a_stored_token(
    tmp_path: Path, fork_server: ForkServer, server: ServerProcess, provider: FakeProvider
) -> None:
    owner, job = Shell(tmp_path / "owner", fork_server), Shell(tmp_path / "job", fork_server)
    owner("login", server.url, "--token", server.token).ok()
    folder = job.project / "checkout"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    at = ("--registry", server.url)
    where = "GitHub Actions: permissions: id-token: write; GitLab: id_tokens: METIER_ID_TOKEN"
    assert where in job("publish", str(folder), "--trusted", *at).failed(5, "not a CI job with an ID token").err
    github: dict[str, Any] = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{provider.issuer}/id-token?api-version=2.0",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "secret",
    }
    refused = job("publish", str(folder), *at, **github).failed(5, "trusted publishing failed: no trusted publisher")
    assert "acme/skills, workflow .github/workflows/release.yml on refs/heads/main" in refused.err
    group = ("registry", "trusted-publisher")
    rule = ("--repository", "acme/skills", "--workflow", "release.yml", "--package", "tide-tables")
    owner(*group, "add", "crew", *rule).failed(4, "is not a trusted issuer")
    added = owner(*group, "add", "crew", *rule, "--issuer", provider.issuer).ok().out.splitlines()
    line = f"1 crew/tide-tables: acme/skills, workflow release.yml ({provider.issuer})"
    assert added[0] == f"Added {line}"
    assert owner(*group, "list", "crew").ok().out.splitlines() == [line]
    done = job("publish", str(folder), "--public", *at, **github).ok().out
    assert done.startswith("Published tide-tables 1.0.0 in namespace crew")
    assert not (job.metier / "credentials.toml").exists()
    lab = job("publish", str(folder), *at, METIER_ID_TOKEN="x.y.z").failed(5, "trusted publishing failed")
    assert "not an ID token" in lab.err
    owner(*group, "remove", "crew", "1").ok()
    owner(*group, "remove", "crew", "1").failed(3, "crew has no trusted publisher 1")
    assert owner(*group, "list", "crew").ok().out == "No trusted publishers in crew\n"
    job("publish", str(folder), *at, **github).failed(5, "trusted publishing failed")
