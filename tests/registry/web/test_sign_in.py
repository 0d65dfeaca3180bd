"""Single sign-on: with a real provider, and with answers that only an attacker sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from metier.registry import OidcOptions
from metier.registry.domain.registry import now_millis
from registry.builders import Clock, Site, site
from registry.identity_providers import (
    CALLBACK,
    NODE,
    SECRET,
    FakeProvider,
    RealProvider,
    fake_provider,
    new_key,
    real_provider,
)

OURS = {"origin": "http://registry.test"}
ROLES = {"skills-admins": ("admin",), "team-a": ("publish:team-a", "read", "tokens"), "*": ("read:handbook",)}
ACCOUNTS: dict[str, dict[str, object]] = {
    "1001": {"preferred_username": "Ann.Lee", "email": "ann@example.com", "email_verified": True, "groups": ["team-a"]},
    "1002": {"preferred_username": "ann-lee", "email": "other@example.org", "email_verified": True, "groups": []},
    "1003": {"preferred_username": "team-a", "email": "eve@example.com", "email_verified": False, "groups": ["skills-admins"]},
}


def options(issuer: str, **more: Any) -> OidcOptions:
    return OidcOptions(issuer=issuer, client_id="registry", client_secret=SECRET, roles=ROLES, **more)


def start(here: Site, path: str = "/login/sso") -> dict[str, str]:
    """Starts a sign-in; the client keeps its cookie. Returns the parameters for the provider."""
    answer = here.get(path)
    assert answer.status_code == 303, answer.text
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


def who(here: Site) -> Any:
    return here.get("/whoami").json()


def actions(here: Site) -> list[str]:
    return [event.action for _, event in here.call(here.registry.store.events)]


@pytest.fixture(scope="module")
def real() -> Iterator[RealProvider]:
    if NODE is None:
        pytest.skip("the provider is not installed: npm ci --prefix tests/registry/oidc")
    with real_provider(ACCOUNTS) as provider:
        yield provider


def sign_in(here: Site, real: RealProvider, name: str, path: str = "/login/sso") -> Any:
    here.client.cookies.clear()
    with httpx2.Client(trust_env=False) as browser:
        back = real.sign_in(here.get(path).headers["location"], name=name, browser=browser)
    return here.get(back.removeprefix("http://registry.test"))


def test_a_person_signs_in_and_has_the_scopes_of_their_groups(tmp_path: Path, real: RealProvider) -> None:
    with site(tmp_path, clock=Clock(now_millis()), oidc=options(real.issuer)) as here:
        assert "Sign in with SSO" in here.get("/login?next=/publish").text
        done = sign_in(here, real, "1001", "/login/sso?next=/publish")
        assert (done.status_code, done.headers["location"]) == (303, "/publish")
        assert who(here) == {"name": "ann-lee", "scopes": ["read:handbook", "publish:team-a", "read", "tokens"]}
        # The same name from another account is another user, and the name of a role is taken.
        sign_in(here, real, "1002")
        assert who(here) == {"name": "ann-lee-2", "scopes": ["read:handbook"]}
        sign_in(here, real, "1003")
        assert who(here)["name"] == "team-a-2"
        admin = here.get("/admin").text
        assert all(text in admin for text in ("ann@example.com", "ann-lee-2", "Disable"))
        out = here.post("/logout", headers=OURS)
        assert (
            "Sign out of the identity provider too" in out.text and f"{real.issuer}/session/end?client_id=registry" in out.text
        )
        assert who(here)["name"] == "anonymous"


def test_disabling_a_user_ends_sessions_and_tokens_at_once(tmp_path: Path, real: RealProvider) -> None:
    with site(tmp_path, clock=Clock(now_millis()), oidc=options(real.issuer)) as here:
        sign_in(here, real, "1001")
        made = here.post("/tokens", headers=OURS, json={"holder": "ann-lee", "scopes": ["publish:team-a", "tokens"]}).json()
        assert made["row"]["parent"] is None and made["row"]["expires"] is None
        child = here.post("/tokens", token=made["token"], json={"holder": "ann-lee", "scopes": ["publish:team-a"]}).json()
        for token in (made["token"], child["token"]):
            assert here.get("/whoami", token=token).json()["name"] == "ann-lee"
        answer = here.post("/admin/users", token=here.admin, headers=OURS, data={"name": "ann-lee", "action": "disable"})
        assert answer.status_code == 200
        assert who(here)["name"] == "anonymous"
        for token in (made["token"], child["token"]):
            assert here.get("/whoami", token=token).status_code == 401
        refused = sign_in(here, real, "1001")
        assert refused.status_code == 403 and "disabled" in refused.text
        here.post("/admin/users", token=here.admin, headers=OURS, data={"name": "ann-lee", "action": "enable"})
        assert sign_in(here, real, "1001").status_code == 303
        assert here.get("/whoami", token=made["token"]).status_code == 401


def test_tokens_with_scopes_that_a_person_lost_end_at_the_next_sign_in(tmp_path: Path, real: RealProvider) -> None:
    with site(tmp_path, clock=Clock(now_millis()), oidc=options(real.issuer)) as here:
        sign_in(here, real, "1001")
        made = [
            here.post("/tokens", headers=OURS, json={"holder": "ann-lee", "scopes": [scope]}).json()["token"]
            for scope in ("publish:team-a", "read:handbook")
        ]
    fewer = OidcOptions(issuer=real.issuer, client_id="registry", client_secret=SECRET, roles={"*": ("read:handbook",)})
    with site(tmp_path, clock=Clock(now_millis()), oidc=fewer) as here:
        sign_in(here, real, "1001")
        assert [here.get("/whoami", token=token).status_code for token in made] == [401, 200]


def test_only_verified_addresses_of_an_allowed_domain_sign_in(tmp_path: Path, real: RealProvider) -> None:
    with site(tmp_path, clock=Clock(now_millis()), oidc=options(real.issuer, allowed_domains=("Example.com",))) as here:
        assert [sign_in(here, real, name).status_code for name in ("1001", "1002", "1003")] == [303, 403, 403]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    with fake_provider() as provider:
        yield provider


@pytest.fixture
def here(tmp_path: Path, fake: FakeProvider) -> Iterator[Site]:
    with site(tmp_path, oidc=options(fake.issuer)) as found:
        yield found


def claims(here: Site, fake: FakeProvider, nonce: str, **more: object) -> dict[str, object]:
    now = here.clock() // 1000
    whole = {"iss": fake.issuer, "aud": "registry", "sub": "7", "exp": now + 300, "iat": now, "nonce": nonce,
             "preferred_username": "ann", "email": "", "groups": ["team-a"]}  # fmt: skip
    return {**whole, **more}


def come_back(here: Site, state: str, **more: str) -> Any:
    return here.get("/login/callback", params={"state": state, "code": "c", **more})


def test_an_honest_answer_is_accepted_and_pkce_and_secret_are_sent(here: Site, fake: FakeProvider) -> None:
    asked = start(here)
    assert asked["code_challenge_method"] == "S256" and asked["redirect_uri"] == CALLBACK
    fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
    assert come_back(here, asked["state"]).status_code == 303
    form = next(form for path, form in fake.requests if path == "/token_endpoint")
    assert len(form["code_verifier"]) >= 43 and "client_secret" not in form
    assert who(here)["name"] == "ann"


Forge = Callable[[Site, FakeProvider, str], str]
FORGED: dict[str, Forge] = {
    "no signature": lambda here, fake, nonce: fake.unsigned(claims(here, fake, nonce)),
    "another key with the same name": lambda here, fake, nonce: fake.sign(
        claims(here, fake, nonce), key=new_key(), kid=str(fake.key.kid)
    ),
    "an unknown key": lambda here, fake, nonce: fake.sign(claims(here, fake, nonce), key=new_key()),
    "changed claims": lambda here, fake, nonce: ".".join(
        [
            fake.sign(claims(here, fake, nonce)).split(".")[0],
            fake.unsigned(claims(here, fake, nonce, sub="8")).split(".")[1],
            fake.sign(claims(here, fake, nonce)).split(".")[2],
        ]
    ),
    "another audience": lambda here, fake, nonce: fake.sign(claims(here, fake, nonce, aud="other")),
    "two audiences without a party": lambda here, fake, nonce: fake.sign(claims(here, fake, nonce, aud=["registry", "other"])),
    "another issuer": lambda here, fake, nonce: fake.sign(claims(here, fake, nonce, iss="https://evil.example")),
    "another nonce": lambda here, fake, _: fake.sign(claims(here, fake, "x" * 43)),
    "no nonce": lambda here, fake, _: fake.sign({k: v for k, v in claims(here, fake, "").items() if k != "nonce"}),
    "expired": lambda here, fake, nonce: fake.sign(claims(here, fake, nonce, exp=here.clock() // 1000 - 120)),
    "from the future": lambda here, fake, nonce: fake.sign(claims(here, fake, nonce, iat=here.clock() // 1000 + 600)),
    "no expiry": lambda here, fake, nonce: fake.sign({k: v for k, v in claims(here, fake, nonce).items() if k != "exp"}),
    "no subject": lambda here, fake, nonce: fake.sign({k: v for k, v in claims(here, fake, nonce).items() if k != "sub"}),
    "not a token": lambda *_: "abc",
    "empty": lambda *_: "",
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_token_is_refused_and_recorded(here: Site, fake: FakeProvider, case: str) -> None:
    asked = start(here)
    fake.id_token = FORGED[case](here, fake, asked["nonce"])
    refused = come_back(here, asked["state"])
    assert refused.status_code == 401, refused.text
    assert who(here)["name"] == "anonymous"
    assert actions(here)[0] == "login-failed" and "user-create" not in actions(here)
    assert here.call(here.registry.store.users) == []


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("expired", "it has expired; sign in again; if it happens each time, the clock of this server"),
        ("from the future", "it is from the future; sign in again; if it happens each time, the clock of this server"),
        ("another audience", "it was made for another client; sign in again"),
        ("another issuer", "it is from another issuer; sign in again"),
        ("changed claims", "its signature is wrong; sign in again"),
        ("no subject", "it has no sub; sign in again"),
    ],
)
def test_a_token_that_is_not_valid_is_explained(here: Site, fake: FakeProvider, case: str, said: str) -> None:
    asked = start(here)
    fake.id_token = FORGED[case](here, fake, asked["nonce"])
    assert said in come_back(here, asked["state"]).text


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        ("invalid_client", 503, "does not accept this registry (invalid_client); ask an administrator to check registry.oidc"),
        ("invalid_grant", 401, "this sign-in took too long, or its answer came twice; sign in again"),
        ("server_error", 401, "the identity provider refused the sign-in: server_error; sign in again"),
    ],
)
def test_a_provider_that_refuses_the_exchange_is_explained(
    here: Site, fake: FakeProvider, error: str, status: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    fake.refusal = error
    answer = come_back(here, start(here)["state"])
    assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert ("does not accept the client 'registry'" in caplog.text) is (error == "invalid_client")


def test_a_state_counts_once_and_only_in_the_browser_that_asked(here: Site, fake: FakeProvider) -> None:
    asked = start(here)
    fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
    assert come_back(here, "x" * 43).status_code == 401
    assert come_back(here, asked["state"]).status_code == 401, "the first answer has ended the sign-in"
    asked = start(here)
    fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
    other = here.client.get(
        "/login/callback", params={"state": asked["state"], "code": "c"}, headers={"cookie": "metier_sign_in=x"}
    )
    assert other.status_code == 401
    asked = start(here)
    fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
    assert come_back(here, asked["state"]).status_code == 303
    assert come_back(here, asked["state"]).status_code == 401
    assert len(fake.requests) == len([path for path, _ in fake.requests if path != "/token_endpoint"]) + 1


def test_the_answer_of_another_provider_is_not_redeemed(here: Site, fake: FakeProvider) -> None:
    asked = start(here)
    assert come_back(here, asked["state"], iss="https://evil.example").status_code == 401
    fake.metadata["authorization_response_iss_parameter_supported"] = True
    here.clock.move(days=1)
    asked = start(here)
    assert come_back(here, asked["state"]).status_code == 401
    assert "/token_endpoint" not in [path for path, _ in fake.requests]


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "evil"])
def test_the_way_back_stays_on_this_host(here: Site, fake: FakeProvider, target: str) -> None:
    asked = start(here, f"/login/sso?next={target}")
    fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
    assert come_back(here, asked["state"]).headers["location"] == "/account"


def test_new_keys_of_the_provider_are_found_once_a_minute(here: Site, fake: FakeProvider) -> None:
    def attempt() -> int:
        asked = start(here)
        fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
        return int(come_back(here, asked["state"]).status_code)

    assert attempt() == 303
    fake.key = new_key()
    assert attempt() == 401
    fake.published = [fake.key]
    here.clock.move(seconds=61)
    assert attempt() == 303
    assert [path for path, _ in fake.requests].count("/jwks_uri") == 2


def test_a_person_without_a_role_and_a_cancelled_sign_in_are_refused(tmp_path: Path, fake: FakeProvider) -> None:
    chosen = OidcOptions(issuer=fake.issuer, client_id="registry", roles={"other": ("read",)})
    with site(tmp_path, oidc=chosen) as here:
        asked = start(here)
        fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
        refused = come_back(here, asked["state"])
        assert refused.status_code == 403 and "role" in refused.text
        asked = start(here)
        cancelled = here.get("/login/callback", params={"state": asked["state"], "error": "access_denied"})
        assert cancelled.status_code == 401 and "access_denied" in cancelled.text


def test_a_provider_that_is_down_is_named_and_tokens_still_work(tmp_path: Path) -> None:
    with site(tmp_path, oidc=options("http://127.0.0.1:9")) as here:
        answer = here.get("/login/sso?next=/publish")
        assert answer.status_code == 503
        assert "cannot reach the identity provider" in answer.text
        assert 'name="token"' in answer.text and 'value="/publish"' in answer.text
        assert here.get("/whoami", token=here.admin).json()["name"] == "admin"


def test_without_single_sign_on_there_is_no_button(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        assert "SSO" not in here.get("/login").text
        assert here.get("/login/sso").status_code == 404
        assert here.get("/login/callback").status_code == 404


def test_secrets_of_a_sign_in_are_in_no_log_and_no_file(
    tmp_path: Path, fake: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    with site(tmp_path, oidc=options(fake.issuer)) as here:
        asked = start(here)
        fake.id_token = fake.sign(claims(here, fake, asked["nonce"]))
        come_back(here, asked["state"])
        events = str(here.call(here.registry.store.events))
        for secret in (asked["state"], asked["nonce"], fake.id_token, SECRET, str(here.client.cookies["metier_session"])):
            assert secret not in events + caplog.text + repr(here.app.options)
            for file in tmp_path.rglob("*"):
                assert not file.is_file() or secret.encode() not in file.read_bytes()
