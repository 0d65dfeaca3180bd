"""`metier login` with a browser: the device authorization grant of RFC 8628."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.registry import OidcOptions
from registry.builders import Site, site

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
OURS = {"origin": "http://registry.test"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    oidc = OidcOptions(issuer="https://id.example", client_id="registry", roles={"*": ("read",)})
    with site(tmp_path, oidc=oidc) as found:
        yield found


def poll(here: Site, codes: dict[str, Any], *, seconds: float = 5) -> Any:
    here.clock.move(seconds=seconds)
    return here.post("/device/token", data={"grant_type": GRANT, "device_code": codes["device_code"]}, headers=OURS).json()


def decide(here: Site, codes: dict[str, Any], token: str, *scopes: str, action: str = "approve") -> Any:
    form = {"user_code": codes["user_code"], "action": action, **{f"scope:{scope}": "1" for scope in scopes}}
    return here.post("/device", token=token, data=form, headers=OURS)


def test_a_device_gets_a_token_once_after_a_person_approved(here: Site) -> None:
    codes = here.post("/device/code", data={"client_id": "metier"}).json()
    assert codes["verification_uri_complete"] == f"http://registry.test/device?user_code={codes['user_code']}"
    assert poll(here, codes)["error"] == "authorization_pending"
    assert poll(here, codes, seconds=1)["error"] == "slow_down"
    ann = here.token("ann", "publish:team", "read", "tokens")
    page = here.get("/device", params={"user_code": codes["user_code"].lower().replace("-", "")}, token=ann)
    assert codes["user_code"] in page.text and "scope:publish:team" in page.text
    assert "Approved" in decide(here, codes, ann, "publish:team").text
    assert decide(here, codes, ann, "read", action="deny").status_code == 404, "it is decided"
    given = poll(here, codes)
    assert (given["token_type"], given["scope"]) == ("Bearer", "publish:team")
    assert here.get("/whoami", token=given["access_token"]).json() == {"name": "ann", "scopes": ["publish:team"]}
    assert poll(here, codes)["error"] == "expired_token"
    here.clock.move(days=91)
    assert here.get("/whoami", token=given["access_token"]).status_code == 401


def test_a_login_is_denied_expires_and_needs_the_scopes(here: Site) -> None:
    ann, bob = here.token("ann", "read", "tokens"), here.token("bob", "read")
    denied, late, greedy, revoked = (here.post("/device/code").json() for _ in range(4))
    assert decide(here, denied, bob, "read").status_code == 403
    assert decide(here, greedy, ann, "admin").status_code == 403
    assert decide(here, greedy, ann).status_code == 403
    assert "Denied" in decide(here, denied, ann, action="deny").text
    assert poll(here, denied)["error"] == "access_denied"
    decide(here, revoked, ann, "read")
    number = next(row["id"] for row in here.get("/tokens", token=here.admin).json()["tokens"] if row["holder"] == "ann")
    here.send("DELETE", f"/tokens/{number}", token=here.admin)
    assert poll(here, revoked)["error"] == "access_denied"
    here.clock.move(seconds=600)
    assert poll(here, late)["error"] == "expired_token"
    assert here.post("/device/token", data={"grant_type": "password"}).json()["error"] == "unsupported_grant_type"


def test_the_page_asks_for_a_sign_in_first_and_for_its_own_form(here: Site) -> None:
    codes = here.post("/device/code").json()
    answer = here.get(f"/device?user_code={codes['user_code']}")
    assert answer.headers["location"] == f"/login?next=%2Fdevice%3Fuser_code%3D{codes['user_code']}"
    here.post("/login", data={"token": here.admin}, headers=OURS)
    form = {"user_code": codes["user_code"], "action": "approve", "scope:read": "1"}
    assert here.post("/device", data=form, headers={"origin": "https://evil.example"}).status_code == 403
    assert poll(here, codes)["error"] == "authorization_pending"
    assert here.post("/device", data=form, headers=OURS).status_code == 200
    assert "access_token" in poll(here, codes)


def test_codes_and_tokens_are_nowhere_on_the_disk(here: Site, tmp_path: Path) -> None:
    codes = here.post("/device/code").json()
    decide(here, codes, here.admin, "read")
    token = poll(here, codes)["access_token"]
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert codes["device_code"].encode() not in file.read_bytes() and token.encode() not in file.read_bytes()


def test_without_single_sign_on_there_is_no_device_login(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        assert here.post("/device/code").status_code == 404
