"""Tokens: a scope of their own to manage them, children that never have more than their parent, and revocation with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.registry.location import RegistryLocation
from metier.registry.maintenance import list_tokens, revoke_token
from registry.builders import Site, site


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def mint(here: Site, parent: str, *scopes: str, holder: str = "acme", **more: Any) -> Any:
    return here.post("/tokens", token=parent, json={"holder": holder, "scopes": list(scopes), **more})


def rows(here: Site, token: str = "") -> dict[str, dict[str, Any]]:
    """The visible tokens by their note."""
    found = here.get("/tokens", token=token or here.admin)
    assert found.status_code == 200, found.text
    return {row["note"]: row for row in found.json()["tokens"]}


def test_a_token_without_the_scope_tokens_sees_and_revokes_only_itself(here: Site) -> None:
    plain = here.token("acme", "publish:acme", "read", note="plain")
    here.token("acme", "admin", note="boss")
    everyone = rows(here)
    assert list(rows(here, plain)) == ["plain"]
    assert mint(here, plain, "read").status_code == 403
    for note, status in (("boss", 404), ("first start", 404), ("plain", 200)):
        assert here.send("DELETE", f"/tokens/{everyone[note]['id']}", token=plain).status_code == status, note
    assert here.get("/skills", token=plain).status_code == 401
    assert rows(here)["boss"]["revoked"] is None


def test_the_scope_tokens_manages_tokens_of_the_holder_with_no_more_scopes(here: Site) -> None:
    manager = here.token("acme", "publish:acme", "yank", "tokens", note="manager")
    here.token("acme", "admin", note="boss")
    here.token("acme", "publish:acme", note="ci")
    here.token("other", "read", note="theirs")
    seen = rows(here, manager)
    assert sorted(seen) == ["boss", "ci", "manager"]
    assert here.send("DELETE", f"/tokens/{seen['boss']['id']}", token=manager).status_code == 403
    assert here.send("DELETE", f"/tokens/{rows(here)['theirs']['id']}", token=manager).status_code == 404
    assert here.send("DELETE", f"/tokens/{seen['ci']['id']}", token=manager).status_code == 200


SUBSETS = {
    ("publish:acme",): 201, ("yank",): 201, ("read:acme",): 201, ("tokens",): 201, ("tokens", "yank"): 201,
    ("read",): 403, ("admin",): 403, ("publish:other",): 403, ("publish:*",): 403, ("yank", "admin"): 403,
}  # fmt: skip


@pytest.mark.parametrize("wanted", SUBSETS)
def test_a_new_token_has_no_more_scopes_than_the_one_that_creates_it(here: Site, wanted: tuple[str, ...]) -> None:
    parent = here.token("acme", "publish:acme", "yank", "tokens")
    assert mint(here, parent, *wanted).status_code == SUBSETS[wanted]
    assert mint(here, parent, *wanted, holder="other").status_code == 403


def test_an_unknown_scope_and_a_missing_token_are_refused(here: Site) -> None:
    assert mint(here, here.admin, "fly").status_code == 400
    assert here.post("/tokens", json={"holder": "acme", "scopes": ["read"]}).status_code == 401


@pytest.mark.parametrize(("days", "expected"), [(0, 2), (30, 2), (1, 1)])
def test_a_new_token_expires_no_later_than_the_one_that_creates_it(here: Site, days: int, expected: int) -> None:
    parent = here.token("acme", "read", "tokens", days=2, note="parent")
    made = mint(here, parent, "read", days=days, note="child").json()
    assert made["row"]["expires"] == f"2026-01-0{1 + expected}T00:00:00Z"
    assert made["row"]["parent"] == rows(here)["parent"]["id"]
    here.clock.move(days=expected)
    assert here.get("/skills", token=made["token"]).status_code == 401


def test_revoking_a_token_revokes_all_that_were_created_with_it(here: Site) -> None:
    parent = here.token("acme", "read", "tokens", note="parent")
    child = mint(here, parent, "read", "tokens", note="child").json()["token"]
    grandchild = mint(here, child, "read", note="grandchild").json()["token"]
    bystander = here.token("acme", "read", note="bystander")
    done = here.send("DELETE", f"/tokens/{rows(here)['parent']['id']}", token=here.admin)
    assert done.json() == {"ok": True, "revoked": 3}
    for token in (parent, child, grandchild):
        assert "revoked" in here.get("/skills", token=token).json()["detail"]
    assert here.get("/skills", token=bystander).status_code == 200
    assert mint(here, child, "read").status_code == 401
    lines = [line for line in here.get("/audit", token=here.admin).json()["events"] if line["action"] == "token-revoke"]
    assert len(lines) == 3


def test_commands_show_the_parent_and_revoke_with_it(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        parent = here.token("acme", "read", "tokens", note="parent")
        mint(here, parent, "read", note="child")
    location = RegistryLocation(f"sqlite://{tmp_path}/registry.sqlite", f"file://{tmp_path}/blobs")
    listed = {row.note: row for row in asyncio.run(list_tokens(location))}
    assert listed["child"].parent == listed["parent"].id
    assert asyncio.run(revoke_token(location, listed["parent"].id)) == 2


def test_the_page_lists_only_the_own_token_without_the_scope(here: Site) -> None:
    plain, manager = here.token("acme", "read", note="plain one"), here.token("acme", "read", "tokens", note="manager one")
    mint(here, manager, "read", note="child one")
    without, with_scope = here.get("/account", token=plain).text, here.get("/account", token=manager).text
    assert "plain one" in without and "manager one" not in without and "Create token" not in without
    assert all(note in with_scope for note in ("plain one", "manager one", "child one", "Create token"))
    prefix = rows(here)["manager one"]["prefix"]
    assert with_scope.count(prefix) == 2


def test_the_last_use_is_shown_to_the_hour(here: Site) -> None:
    token = here.token("acme", "read", note="mine")
    assert rows(here)["mine"]["used"] is None
    for seconds, expected in ((0, "2026-01-01T00:00:00Z"), (3599, "2026-01-01T00:00:00Z"), (1, "2026-01-01T01:00:00Z")):
        here.clock.move(seconds=seconds)
        assert here.get("/whoami", token=token).status_code == 200
        here.call(here.registry.tokens.flush_uses)
        assert rows(here)["mine"]["used"] == expected
    assert "2026-01-01</td>" in here.get("/account", token=token).text


def test_tokens_expire_by_default_after_the_days_of_the_setting(tmp_path: Path) -> None:
    with site(tmp_path, token_days=7) as here:
        for days, expected in ((None, "2026-01-08T00:00:00Z"), (0, None), (2, "2026-01-03T00:00:00Z")):
            made = mint(here, here.admin, "read", days=days)
            assert made.json()["row"]["expires"] == expected
        assert mint(here, here.admin, "read", days=4000).status_code == 400
        page = here.get("/account", token=here.admin).text
        assert 'placeholder="never" maxlength="5" value="7"' in page


def test_the_page_offers_the_scopes_of_the_caller_as_checkboxes(here: Site) -> None:
    ours = {"origin": "http://registry.test"}
    manager = here.token("acme", "publish:acme", "yank", "tokens")
    page = here.get("/account", token=manager).text
    assert all(f'name="scope:{scope}"' in page for scope in ("publish:acme", "yank", "tokens")) and "scope:admin" not in page
    form = {"holder": "acme", "scope:publish:acme": "1", "scope:yank": "1", "scopes": "read:acme", "note": "by box"}
    here.post("/account/tokens", token=manager, data=form, headers=ours)
    assert rows(here)["by box"]["scopes"] == ["publish:acme", "yank", "read:acme"]
    refused = here.post("/account/tokens", token=manager, data={"holder": "acme", "scope:admin": "1"}, headers=ours)
    assert refused.status_code == 403
