"""Tokens: shown once, kept as a hash, good for what they say and no longer than they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.registry.domain.tokens import is_token_text, new_token_text
from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def test_the_first_start_makes_one_token_and_no_other_start_does(tmp_path: Path) -> None:
    with site(tmp_path) as first:
        assert is_token_text(first.admin)
    with site(tmp_path) as second:
        assert second.admin == ""


def test_a_token_is_nowhere_on_the_disk(here: Site, tmp_path: Path) -> None:
    token = here.token("acme", "publish:acme")
    here.publish("pdf", "1.0.0", token=token)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert token.encode() not in file.read_bytes(), file
    assert token not in here.get("/tokens", token=token).text
    assert token not in here.get("/audit", token=here.admin).text


@pytest.mark.parametrize("text", ["", "mtr_", "x" * 53, "mtr_" + "0" * 49, "Bearer", "é"])
def test_an_invalid_token_is_refused(here: Site, text: str) -> None:
    answer = here.client.get("/skills", headers={b"authorization": f"Bearer {text}".encode()})
    assert answer.status_code == 401


def test_a_revoked_or_expired_token_is_refused_at_once(here: Site) -> None:
    token = here.token("acme", "read", days=2)
    (row,) = (row for row in here.get("/tokens", token=here.admin).json()["tokens"] if row["holder"] == "acme")
    assert here.get("/skills", token=token).status_code == 200
    here.clock.move(days=2)
    assert "expired" in here.get("/skills", token=token).json()["detail"]
    here.clock.move(days=-1)
    assert here.send("DELETE", f"/tokens/{row['id']}", token=here.admin).status_code == 200
    assert "revoked" in here.get("/skills", token=token).json()["detail"]


SCOPES = {
    # scope: publish in acme, publish in other, read private of acme, yank of acme, audit log
    "read": (403, 403, 200, 403, 403),
    "read:acme": (403, 403, 200, 403, 403),
    "read:other": (403, 403, 404, 404, 403),
    "publish:acme": (201, 403, 200, 403, 403),
    "publish:other": (403, 201, 404, 404, 403),
    "publish:*": (201, 201, 200, 403, 403),
    "yank": (403, 403, 404, 404, 403),
    "admin": (201, 201, 200, 200, 200),
}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_allows_its_own_actions_only(here: Site, scope: str) -> None:
    here.publish("secret", "1.0.0", query="namespace=acme")
    token = here.token("reader", scope)
    got = (
        here.publish("one", token=token, query="namespace=acme").status_code,
        here.publish("two", token=token, query="namespace=other").status_code,
        here.get("/skills/secret", token=token).status_code,
        here.post("/skills/secret/versions/1.0.0/yank", token=token).status_code,
        here.get("/audit", token=token).status_code,
    )
    assert got == SCOPES[scope]


def test_a_holder_yanks_packages_of_its_own_namespace(here: Site) -> None:
    here.publish("pdf", "1.0.0", query="namespace=acme")
    assert here.post("/skills/pdf/versions/1.0.0/yank", token=here.token("other", "yank")).status_code == 404
    assert here.post("/skills/pdf/versions/1.0.0/yank", token=here.token("acme", "publish:acme")).status_code == 403
    assert here.post("/skills/pdf/versions/1.0.0/yank", token=here.token("acme", "yank")).status_code == 200


def test_a_private_package_is_hidden_from_others(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("other", "publish:other")
    here.publish("secret", "1.0.0", token=own, query="")
    below = ("", "/download", "/1.0.0.zip", "/versions", "/files/SKILL.md", "/readme", "/badge.svg", "/stats")
    others = ("/index/secret.json", "/api/v1/skills/secret", "/api/v1/download?slug=secret")
    paths = (*(f"/skills/secret{each}" for each in below), *others)
    for path in paths:
        assert here.get(path).status_code == 404, path
        assert here.get(path, token=other).status_code == 404, path
        assert here.get(path, token=own).status_code == 200, path
    assert here.get("/skills/none").json()["detail"].replace("none", "secret") == here.get("/skills/secret").json()["detail"]
    for path in ("/skills", "/skills?q=secret", "/.well-known/agent-skills/index.json", "/trending", "/api/v1/search?q=secret"):
        assert "secret" not in here.get(path).text.replace("q=secret", ""), path
        assert "secret" not in here.get(path, token=other).text, path
    assert "secret" in here.get("/skills", token=own).text
    assert "private" in here.get("/skills/secret/1.0.0.zip", token=own).headers["cache-control"]


def test_a_co_owner_of_a_private_skill_sees_it_wherever_the_first_owner_does(here: Site) -> None:
    first, second = here.token("acme", "publish:acme"), here.token("crew", "publish:crew")
    here.publish("lantern", "1.0.0", token=first, query="", description="Lights the quay")
    here.send("PUT", "/skills/lantern/owners/crew", token=first)
    paths = (
        "/skills/lantern", "/skills/lantern/download", "/skills/lantern/1.0.0.zip", "/skills/lantern/versions",
        "/skills/lantern/versions/1.0.0", "/skills/lantern/files/SKILL.md", "/skills/lantern/readme", "/skills/lantern/owners",
        "/skills/lantern/badge.svg", "/skills/lantern/stats", "/index/lantern.json", "/api/v1/skills/lantern",
        "/skill/lantern", "/skill/lantern/files", "/skill/lantern/versions", "/owner/acme", "/owner/crew",
    )  # fmt: skip
    for path in paths:
        assert here.get(path, token=first).status_code == 200, path
        assert here.get(path, token=second).status_code == 200, path
    for path in ("/skills", "/skills?q=quay", "/.well-known/agent-skills/index.json", "/api/v1/search?q=quay", "/account"):
        assert "lantern" in here.get(path, token=second).text, path
        assert "lantern" not in here.get(path, token=here.token("other", "publish:other")).text, path
    assert here.get("/stats", token=second).json() == here.get("/stats", token=first).json()
    assert here.get("/skills?q=lanterm", token=second).json()["corrected"] == {"lanterm": "lantern"}
    assert here.publish("lantern", "1.1.0", token=second, query="").status_code == 201
    assert here.post("/skills/lantern/versions/1.0.0/yank", token=here.token("crew", "yank")).status_code == 200


def test_guessing_tokens_is_slowed_down(here: Site) -> None:
    answers = [here.get("/skills", token=new_token_text()).status_code for _ in range(80)]
    assert answers[:10] == [401] * 10
    assert answers[-1] == 429
    assert here.get("/skills").status_code == 200


def test_a_namespace_is_not_called_like_a_page(here: Site) -> None:
    for name in ("skills", "api", "t", "-x", "A"):
        assert here.publish("pdf", token=here.admin, query=f"namespace={name}").status_code == 400, name
