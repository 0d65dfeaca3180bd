"""Sessions of the pages: opaque, stored as a hash, and ended with their token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.builders import Site, site

OURS = {"origin": "http://registry.test"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def log_in(here: Site, token: str) -> str:
    answer = here.post("/login", data={"token": token}, headers=OURS, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return str(here.client.cookies["metier_session"])


def who(here: Site, *cookies: str) -> str:
    here.client.cookies.clear()
    return str(here.get("/whoami", headers={"cookie": "; ".join(cookies)}).json()["name"])


def test_the_cookie_is_not_the_token_and_is_nowhere_on_the_disk(here: Site, tmp_path: Path) -> None:
    token = here.token("acme", "publish:acme")
    session = log_in(here, token)
    assert token not in session
    assert who(here, f"metier_session={session}") == "acme"
    assert who(here, f"metier_session={token}") == "anonymous"
    assert here.get("/skills", token=session).status_code == 401
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert session.encode() not in file.read_bytes(), file


def test_a_session_ends_with_its_token_at_logout_and_after_two_weeks(here: Site) -> None:
    token, short = here.token("acme", "read"), here.token("brief", "read", days=1)
    sessions = []
    for each in (here.token("gone", "read"), token, token, short):
        here.client.cookies.clear()
        sessions.append(log_in(here, each))
    revoked, ended, kept, brief = sessions
    number = next(row["id"] for row in here.get("/tokens", token=here.admin).json()["tokens"] if row["holder"] == "gone")
    here.send("DELETE", f"/tokens/{number}", token=here.admin)
    assert who(here, f"metier_session={revoked}") == "anonymous"
    assert who(here, f"metier_session={ended}") == "acme"
    here.post("/logout", headers={**OURS, "cookie": f"metier_session={ended}"}, follow_redirects=False)
    assert who(here, f"metier_session={ended}") == "anonymous"
    assert who(here, f"metier_session={kept}") == "acme"
    assert who(here, f"metier_session={brief}") == "brief"
    here.clock.move(days=1)
    assert who(here, f"metier_session={brief}") == "anonymous"
    here.clock.move(days=13)
    assert who(here, f"metier_session={kept}") == "anonymous"
    assert here.get("/skills", token=token).status_code == 200


def test_every_login_starts_a_new_session_and_ends_the_one_before(here: Site) -> None:
    first = log_in(here, here.admin)
    second = log_in(here, here.admin)
    assert first != second
    assert who(here, f"metier_session={first}") == "anonymous"
    assert who(here, f"metier_session={second}") == "admin"


def test_cookies_of_others_with_our_name_do_not_hide_ours(here: Site) -> None:
    session = log_in(here, here.admin)
    foreign = ["metier_session=planted", "metier_session=" + "A" * 43, 'metier_session="', "bad name=x", "metier_session"]
    assert who(here, *foreign, f"metier_session={session}") == "admin"
    assert who(here, f"metier_session={session}", *foreign) == "admin"
    assert here.get("/skills", headers={"cookie": foreign[1]}).status_code == 200


def test_with_https_no_other_host_can_set_the_cookie(tmp_path: Path) -> None:
    with site(tmp_path, url="https://registry.test") as here:
        here.client.base_url = "https://registry.test"
        answer = here.post(
            "/login", data={"token": here.admin}, headers={"origin": "https://registry.test"}, follow_redirects=False
        )
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-metier_session=")
        assert (
            all(part in cookie for part in ("; Secure", "; HttpOnly", "; Path=/", "; SameSite=lax")) and "Domain" not in cookie
        )
        session = cookie.partition("=")[2].partition(";")[0]
        assert who(here, f"metier_session={session}") == "anonymous"
        assert who(here, f"__Host-metier_session={session}") == "admin"


def test_a_session_changes_something_only_from_our_own_pages(here: Site) -> None:
    cookie = {"cookie": f"metier_session={log_in(here, here.admin)}"}
    here.client.cookies.clear()
    made = {"holder": "acme", "scopes": ["read"]}
    assert here.post("/tokens", json=made, headers=cookie).status_code == 403
    assert here.post("/tokens", json=made, headers={**cookie, "origin": "http://evil.test"}).status_code == 403
    assert here.post("/tokens", json=made, headers={**cookie, **OURS}).status_code == 201
