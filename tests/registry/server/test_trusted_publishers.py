"""Trusted publishing: jobs of a CI system, and tokens that only an attacker sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.builders import Site, site
from registry.identity_providers import FakeProvider, fake_provider, new_key

URL = "http://registry.test"
RULE = {"repository": "Acme/skills", "workflow": "release.yml"}


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with fake_provider() as made:
        yield made


@pytest.fixture
def here(tmp_path: Path, provider: FakeProvider) -> Iterator[Site]:
    with site(tmp_path, url=URL, trusted_issuers=(provider.issuer,)) as found:
        yield found


def github(here: Site, provider: FakeProvider, **more: Any) -> dict[str, Any]:
    now = here.clock() // 1000
    return {
        "iss": provider.issuer, "aud": URL, "sub": "repo:Acme/skills:ref:refs/heads/main", "iat": now, "exp": now + 300,
        "jti": f"job-{len(provider.requests)}-{sorted(more.items())}", "repository": "Acme/skills", "repository_id": "77",
        "workflow_ref": "Acme/skills/.github/workflows/release.yml@refs/heads/main", "ref": "refs/heads/main",
        "event_name": "push", "sha": "c0ffee", "run_id": "12", **more,
    }  # fmt: skip


def gitlab(here: Site, provider: FakeProvider, **more: Any) -> dict[str, Any]:
    now, host = here.clock() // 1000, provider.issuer.removeprefix("http://")
    return {
        "iss": provider.issuer, "aud": URL, "sub": "project_path:group/sub/skills", "iat": now, "exp": now + 300, "jti": "lab",
        "project_path": "group/sub/skills", "project_id": "5", "ref": "v1.0", "ref_type": "tag", "sha": "beef",
        "ci_config_ref_uri": f"{host}/group/sub/skills//.gitlab-ci.yml@refs/tags/v1.0", "pipeline_source": "push",
        "job_id": "90", "environment": "production", **more,
    }  # fmt: skip


def trust(here: Site, provider: FakeProvider, *, namespace: str = "acme", **more: str) -> Any:
    body = {"issuer": provider.issuer, **RULE, **more}
    made = here.post(f"/namespaces/{namespace}/trusted-publishers", token=here.admin, json=body)
    assert made.status_code == 201, made.text
    return made.json()


def exchange(here: Site, text: str, **more: str) -> Any:
    return here.post("/oidc/exchange", json={"token": text, **more})


def test_a_job_publishes_and_its_provenance_is_shown(here: Site, provider: FakeProvider) -> None:
    trust(here, provider)
    answer = exchange(here, provider.sign(github(here, provider)))
    assert answer.status_code == 201, answer.text
    token = answer.json()["token"]
    assert here.get("/whoami", token=token).json() == {"name": "acme", "scopes": ["upload:acme"]}
    made = here.publish("tide-tables", "1.0.0", token=token)
    assert made.status_code == 201 and made.json()["namespace"] == "acme", made.text
    assert here.get("/skills/tide-tables/versions/1.0.0").json()["provenance"] == {
        "issuer": provider.issuer, "repository": "Acme/skills", "commit": "c0ffee", "workflow": ".github/workflows/release.yml",
        "ref": "refs/heads/main", "run_url": f"{provider.issuer}/Acme/skills/actions/runs/12",
    }  # fmt: skip
    page = here.get("/skill/tide-tables/security").text
    assert "Provenance" in page and "c0ffee" in page and f"{provider.issuer}/Acme/skills/actions/runs/12" in page
    here.publish("star-map", "1.0.0")
    assert here.get("/skills/star-map/versions/1.0.0").json()["provenance"] is None
    here.clock.move(seconds=15 * 60)
    assert here.publish("tide-tables", "1.0.1", token=token).status_code == 401


def test_a_gitlab_job_publishes(here: Site, provider: FakeProvider) -> None:
    rule = {"repository": "group/sub/skills", "workflow": ".gitlab-ci.yml", "ref": "refs/tags/v*", "environment": "production"}
    trust(here, provider, **rule)
    assert exchange(here, provider.sign(gitlab(here, provider, ref="w1"))).status_code == 403
    assert exchange(here, provider.sign(gitlab(here, provider, environment="test"))).status_code == 403
    token = exchange(here, provider.sign(gitlab(here, provider))).json()["token"]
    here.publish("tide-tables", "1.0.0", token=token)
    shown = here.get("/skills/tide-tables/versions/1.0.0").json()["provenance"]
    assert shown["run_url"] == f"{provider.issuer}/group/sub/skills/-/jobs/90"
    assert (shown["repository"], shown["ref"], shown["workflow"]) == ("group/sub/skills", "refs/tags/v1.0", ".gitlab-ci.yml")


def test_the_token_of_a_job_can_only_publish(here: Site, provider: FakeProvider) -> None:
    rule = trust(here, provider, package="tide-tables")
    here.publish("star-map", "1.0.0", query="namespace=acme&visibility=public")
    token = exchange(here, provider.sign(github(here, provider)), package="tide-tables").json()["token"]
    assert here.publish("tide-tables", "1.0.0", token=token).status_code == 201
    assert here.publish("star-map", "1.0.1", token=token).status_code == 403
    assert here.publish("tide-tables", "1.0.1", token=token, query="namespace=other").status_code == 403
    publishers = "/namespaces/acme/trusted-publishers"
    for method, path in (
        ("DELETE", "/skills/tide-tables"), ("PUT", "/skills/tide-tables/owners/eve"), ("GET", publishers),
        ("POST", "/skills/tide-tables/versions/1.0.0/yank"), ("DELETE", f"{publishers}/{rule['id']}"),
    ):  # fmt: skip
        assert here.send(method, path, token=token).status_code == 403, path
    assert here.post("/tokens", token=token, json={"holder": "acme", "scopes": ["publish:acme"]}).status_code == 403
    made = here.post("/tokens", token=here.admin, json={"holder": "acme", "scopes": ["upload:acme"]})
    assert made.status_code == 400, "only an exchange makes such tokens"
    assert here.post(publishers, token=token, json={"issuer": provider.issuer, **RULE}).status_code == 403
    removed = here.send("DELETE", f"{publishers}/{rule['id']}", token=here.admin)
    assert removed.status_code == 200
    assert here.publish("tide-tables", "1.0.2", token=token).status_code == 401, "revoked with its publisher"
    assert here.send("DELETE", f"{publishers}/{rule['id']}", token=here.admin).status_code == 404


FORGED: dict[str, tuple[int, str, Callable[[Site, FakeProvider], str]]] = {
    "no signature": (401, "not valid", lambda here, it: it.unsigned(github(here, it))),
    "another key": (401, "key", lambda here, it: it.sign(github(here, it), key=new_key())),
    "known key name": (401, "", lambda here, it: it.sign(github(here, it), key=new_key(), kid=str(it.key.kid))),
    "wrong audience": (401, "another client", lambda here, it: it.sign(github(here, it, aud="https://other.example"))),
    "expired": (401, "expired", lambda here, it: it.sign(github(here, it, exp=here.clock() // 1000 - 61))),
    "wrong issuer": (401, "not a trusted issuer", lambda here, it: it.sign(github(here, it, iss="http://127.0.0.1:1"))),
    "no token id": (401, "no jti", lambda here, it: it.sign(github(here, it, jti=""))),
    "wrong repository": (403, "Acme/other", lambda here, it: it.sign(github(here, it, repository="Acme/other"))),
    "wrong workflow": (403, "", lambda here, it: it.sign(
        github(here, it, workflow_ref="Acme/skills/.github/workflows/test.yml@refs/heads/main"))),
    "another repository's workflow": (403, "", lambda here, it: it.sign(
        github(here, it, workflow_ref="Eve/skills/.github/workflows/release.yml@refs/heads/main"))),
    "of a fork": (403, "pull_request_target", lambda here, it: it.sign(github(here, it, event_name="pull_request_target"))),
    "no token": (401, "not an ID token", lambda here, it: "x.y"),
}  # fmt: skip


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_token_is_refused(here: Site, provider: FakeProvider, case: str) -> None:
    status, word, make = FORGED[case]
    trust(here, provider)
    answer = exchange(here, make(here, provider))
    assert (answer.status_code, word in answer.json()["detail"]) == (status, True), answer.text
    assert here.call(here.registry.store.engine.rows, "select 1 from token where publisher_id is not null") == []


def test_a_token_is_exchanged_once(here: Site, provider: FakeProvider) -> None:
    trust(here, provider)
    text = provider.sign(github(here, provider))
    assert [exchange(here, text).status_code for _ in range(2)] == [201, 401]
    here.clock.move(seconds=359)
    assert exchange(here, text).status_code == 401


def test_a_new_project_of_the_same_name_is_refused(here: Site, provider: FakeProvider) -> None:
    trust(here, provider)
    assert exchange(here, provider.sign(github(here, provider))).status_code == 201
    assert exchange(here, provider.sign(github(here, provider, repository_id="78"))).status_code == 409


def test_only_issuers_of_the_setting_are_contacted(tmp_path: Path, provider: FakeProvider) -> None:
    with site(tmp_path, url=URL, trusted_issuers=("https://id.example",)) as here:
        before = len(provider.requests)
        assert exchange(here, provider.sign(github(here, provider))).status_code == 401
        body = {"issuer": provider.issuer, **RULE}
        assert here.post("/namespaces/acme/trusted-publishers", token=here.admin, json=body).status_code == 400
        assert len(provider.requests) == before
    with site(tmp_path / "b", trusted_issuers=(provider.issuer,)) as here:
        answer = exchange(here, provider.sign(github(here, provider)))
        assert answer.status_code == 404 and "registry.url" in answer.json()["hint"], "the Host header is no audience"


@pytest.mark.parametrize("bad", [{"repository": "acme"}, {"workflow": "release"}, {"ref": "main"}, {"package": "A b"}])
def test_a_rule_that_matches_nothing_is_refused(here: Site, provider: FakeProvider, bad: dict[str, str]) -> None:
    body = {"issuer": provider.issuer, **RULE, **bad}
    assert here.post("/namespaces/acme/trusted-publishers", token=here.admin, json=body).status_code == 400
