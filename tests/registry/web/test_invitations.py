"""Invitations: a link makes one user, with a token that ends with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.registry.server.authentication import redacted_path
from registry.builders import Site, site

OURS = {"origin": "http://registry.test"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def invite(here: Site, scopes: str = "publish:team read", days: str = "7") -> str:
    answer = here.post("/admin/invite", token=here.admin, headers=OURS, data={"scopes": scopes, "days": days, "note": "Ann"})
    found = re.search(r"http://registry.test(/invite/[\w-]{43})", answer.text)
    assert found, answer.text
    return found[1]


def accept(here: Site, link: str, name: str, **headers: str) -> Any:
    return here.post(link, data={"name": name}, headers={**OURS, **headers})


def test_a_link_makes_one_user_with_a_token_that_ends_with_them(here: Site) -> None:
    link = invite(here)
    assert "publish:team" in here.get(link).text
    page = accept(here, link, "Ann")
    found = re.search(r"mtr_\w{49}", page.text)
    assert found, page.text
    assert here.get("/whoami", token=found[0]).json() == {"name": "ann", "scopes": ["publish:team", "read"]}
    assert (here.get(link).status_code, accept(here, link, "bob").status_code) == (404, 404)
    here.post("/admin/users", token=here.admin, headers=OURS, data={"name": "ann"})
    assert here.get("/whoami", token=found[0]).status_code == 401
    audit = str(here.get("/audit", token=here.admin).json())
    assert "user:ann" in audit and link.rpartition("/")[2] not in audit and found[0] not in audit


@pytest.mark.parametrize(("name", "status"), [("admin", 400), ("", 400), ("a b", 400), ("acme", 409), ("ann", 409)])
def test_a_name_that_cannot_be_taken_does_not_use_up_the_link(here: Site, name: str, status: int) -> None:
    here.token("acme", "read")
    accept(here, invite(here), "ann")
    link = invite(here)
    refused = accept(here, link, name)
    assert refused.status_code == status and "Accept" in refused.text
    assert accept(here, link, "bob").status_code == 200


def test_a_link_expires_ends_with_its_creator_and_needs_our_own_page(here: Site) -> None:
    late, foreign = invite(here, days="1"), invite(here)
    assert accept(here, foreign, "eve", origin="https://evil.example").status_code == 403
    here.clock.move(days=1)
    assert here.get(late).status_code == 404
    assert here.get(foreign).status_code == 200
    here.send("DELETE", f"/tokens/{here.get('/tokens', token=here.admin).json()['tokens'][0]['id']}", token=here.admin)
    assert here.get(foreign).status_code == 404
    assert here.get("/invite/none").status_code == 404


def test_only_scopes_and_days_that_exist_are_accepted(here: Site) -> None:
    for scopes, days in (("fly", "7"), ("", "7"), ("read", "0"), ("read", "91"), ("read", "x")):
        form = {"scopes": scopes, "days": days}
        answer = here.post("/admin/invite", token=here.admin, headers=OURS, data=form)
        assert answer.status_code == 400, (scopes, days)
        assert 'role="alert"' in answer.text and "<h2>Invite</h2>" in answer.text


def test_scopes_are_checkboxes_and_a_field_for_others(here: Site) -> None:
    page = here.get("/admin", token=here.admin).text
    assert 'type="checkbox" name="scope:read"' in page
    form = {"scope:read": "1", "scope:yank": "1", "scopes": "publish:team", "days": "7"}
    link = here.post("/admin/invite", token=here.admin, headers=OURS, data=form).text.partition("/invite/")[2][:43]
    found = re.search(r"mtr_\w{49}", accept(here, f"/invite/{link}", "Ann").text)
    assert found
    assert here.get("/whoami", token=found[0]).json()["scopes"] == ["read", "yank", "publish:team"]


def test_a_link_is_in_no_log_and_on_no_disk(here: Site, tmp_path: Path) -> None:
    link = invite(here)
    assert redacted_path(link) == "/invite/***" and redacted_path("/t/x/skills") == "/t/***/skills"
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or link.rpartition("/")[2].encode() not in file.read_bytes()


def test_an_open_invitation_is_listed_without_its_link_and_withdrawn(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        made = here.post("/admin/invite", token=here.admin, data={"scopes": "read", "days": "7", "note": "for Bo"}).text
        code = made.partition("/invite/")[2][:43]
        answer = here.get("/invitations", token=here.admin)
        (row,) = answer.json()["invitations"]
        assert (row["scopes"], row["note"], row["expires"]) == (["read"], "for Bo", "2026-01-08T00:00:00Z")
        assert code not in answer.text
        assert "for Bo" in here.get("/admin", token=here.admin).text
        assert here.send("DELETE", f"/invitations/{row['id']}", token=here.admin).status_code == 200
        assert here.get(f"/invite/{code}").status_code == 404
        assert here.send("DELETE", f"/invitations/{row['id']}", token=here.admin).status_code == 404


def test_users_are_listed_and_disabled_by_the_api(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        made = here.post("/admin/invite", token=here.admin, data={"scopes": "read", "days": "7"}).text
        code = made.partition("/invite/")[2][:43]
        here.post(f"/invite/{code}", data={"name": "bo"}, headers={"origin": "http://registry.test"})
        (row,) = here.get("/users", token=here.admin).json()["users"]
        assert (row["name"], row["scopes"], row["disabled"]) == ("bo", ["read"], None)
        assert here.send("PUT", "/users/bo", token=here.admin, json={"disabled": True}).json() == {"revoked": 1}
        assert here.get("/users", token=here.admin).json()["users"][0]["disabled"] == "2026-01-01T00:00:00Z"
        assert here.get("/users").status_code == 401
