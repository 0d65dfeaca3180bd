"""Pages as a browser without JavaScript gets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.builders import Site, archive, site

HTML = {"accept": "text/html"}
OURS = {"origin": "http://registry.test"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as made:
        made.publish("tide-tables", "1.0.0", description="Reads tide tables", body="# Tides\n\nold line\n")
        made.publish("tide-tables", "1.1.0", description="Reads tide tables", body="# Tides\n\nnew line\n")
        yield made


def logged_in(shop: Site, token: str = "") -> None:
    answer = shop.post("/login", data={"token": token or shop.admin}, headers=OURS, follow_redirects=False)
    assert answer.status_code == 303, answer.text


def act(shop: Site, path: str, **fields: str) -> Any:
    return shop.post(path, data=fields, headers=OURS, follow_redirects=False)


def create_token(shop: Site, holder: str, scopes: str) -> str:
    logged_in(shop)
    made = re.search(r'id="new-token">(mtr_\w+)<', act(shop, "/account/tokens", holder=holder, scopes=scopes).text)
    assert made
    shop.client.cookies.clear()
    return made[1]


def test_every_page_is_whole_and_guarded(shop: Site) -> None:
    logged_in(shop)
    for path in (
        "/", "/search", "/search?q=tide", "/owner/admin", "/docs", "/skill/tide-tables", "/skill/tide-tables/files",
        "/skill/tide-tables/file/SKILL.md", "/skill/tide-tables/versions", "/skill/tide-tables/diff?from=1.0.0&to=1.1.0",
        "/skill/tide-tables/security", "/login", "/publish", "/account", "/admin",
        "/playground", "/playground?q=tide",
    ):  # fmt: skip
        answer = shop.get(path, headers=HTML)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy, path
        assert "</html>" in answer.text
        assert not re.search(r"<script(?! src=\"/static/)|<style|\sstyle=|\son\w+=", answer.text), path
        # Each address on the page is one of ours.
        assert not re.search(r'(?:src|href|action)="(?!/|#|http://registry\.test)', answer.text), path


def test_the_search_page_shows_what_was_found_and_only_that_while_typing(shop: Site) -> None:
    whole = shop.get("/search?q=tide", headers=HTML).text
    part = shop.get("/search?q=tide", headers={**HTML, "hx-request": "true"}).text
    assert "tide-tables" in whole and "<html" in whole
    assert "tide-tables" in part and "<html" not in part
    assert "No matches" in shop.get("/search?q=zebra", headers=HTML).text


def test_results_continue_on_a_next_page_with_the_same_filters(shop: Site) -> None:
    for number in range(25):
        shop.publish(f"moon-{number}", "1.0.0", description="Knows the moon")
    first = shop.get("/search?q=moon&sort=name", headers=HTML).text
    where = re.search(r'rel="next" href="([^"]+)"', first)
    assert where and "sort=name" in where[1]
    second = shop.get(where[1].replace("&amp;", "&"), headers=HTML).text
    names = re.compile(r'<h2><a href="/skill/([^"]+)"')
    assert len(names.findall(first)) == 20
    assert len(names.findall(second)) == 5
    assert set(names.findall(first)).isdisjoint(names.findall(second))


def test_a_skill_page_shows_its_cost_and_how_to_install_it(shop: Site) -> None:
    text = shop.get("/skill/tide-tables", headers=HTML).text
    assert "metier skill install r9s:tide-tables" in text
    assert "npx skills add http://registry.test --skill tide-tables" in text
    assert "clawhub --registry http://registry.test install tide-tables" in text
    assert "When activated" in text
    assert "<h1" in text and "new line" in text


def test_an_old_version_says_that_there_is_a_newer_one(shop: Site) -> None:
    text = shop.get("/skill/tide-tables?version=1.0.0", headers=HTML).text
    assert "old line" in text
    assert "the newest is" in text


def test_the_diff_of_two_versions_shows_both_lines(shop: Site) -> None:
    text = shop.get("/skill/tide-tables/diff?from=1.0.0&to=1.1.0", headers=HTML).text
    assert re.search(r'<tr class="removed">.*old line', text)
    assert re.search(r'<tr class="added">.*new line', text)


def test_a_private_skill_is_not_found_without_a_token(shop: Site) -> None:
    shop.publish("secret-plan", "1.0.0", query="visibility=private")
    for path in (
        "/skill/secret-plan",
        "/skill/secret-plan/files",
        "/skill/secret-plan/file/SKILL.md",
        "/skill/secret-plan/diff",
    ):
        answer = shop.get(path, headers=HTML)
        assert answer.status_code == 404
        assert "secret-plan" in answer.text and "</html>" in answer.text
    assert "secret-plan" not in shop.get("/search", headers=HTML).text
    logged_in(shop)
    assert "t/READ_TOKEN" in shop.get("/skill/secret-plan", headers=HTML).text


def test_logging_in_needs_a_known_token_and_redirects_only_within_the_site(shop: Site) -> None:
    assert "unknown token" in act(shop, "/login", token="mtr_wrong").text
    for where in ("https://evil.test/", "//evil.test", "/\\evil.test", "javascript:alert(1)"):
        assert act(shop, "/login", token=shop.admin, next=where).headers["location"] == "/account"
    assert act(shop, "/login", token=shop.admin, next="/admin").headers["location"] == "/admin"
    cookie = act(shop, "/login", token=shop.admin).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie


def test_a_form_of_another_site_changes_nothing(shop: Site) -> None:
    logged_in(shop)
    for headers in ({"origin": "http://evil.test"}, {}):
        fields = {"version": "1.1.0", "reason": "x"}
        answer = shop.post("/skill/tide-tables/yank", data=fields, headers=headers, follow_redirects=False)
        assert answer.status_code == 403
        login = shop.post("/login", data={"token": shop.admin}, headers=headers, follow_redirects=False)
        assert login.status_code == 403
    assert shop.get("/skills/tide-tables").json()["version"] == "1.1.0"


def test_yanking_on_the_page_hides_a_version_with_its_reason(shop: Site) -> None:
    logged_in(shop)
    assert act(shop, "/skill/tide-tables/yank", version="1.1.0", reason="wrong numbers").status_code == 303
    assert "wrong numbers" in shop.get("/skill/tide-tables/versions", headers=HTML).text
    assert "This is version" not in shop.get("/skill/tide-tables", headers=HTML).text
    assert shop.get("/skills/tide-tables").json()["version"] == "1.0.0"
    act(shop, "/skill/tide-tables/yank", version="1.0.0", reason="too")
    assert "This version was yanked" in shop.get("/skill/tide-tables", headers=HTML).text
    act(shop, "/skill/tide-tables/unyank", version="1.1.0")
    assert shop.get("/skills/tide-tables").json()["version"] == "1.1.0"


def test_publishing_on_the_page_checks_first_and_then_publishes(shop: Site) -> None:
    logged_in(shop)
    upload = {"archive": ("star.zip", archive("star-map", "1.0.0"), "application/zip")}
    tried = shop.post("/publish", data={"dry_run": "1"}, files=upload, headers=OURS, follow_redirects=False)
    assert "ready to publish" in tried.text and "SKILL.md" in tried.text
    assert shop.get("/skills/star-map").status_code == 404
    done = shop.post("/publish", data={"visibility": "public"}, files=upload, headers=OURS, follow_redirects=False)
    assert done.headers["location"] == "/skill/star-map"
    bad = {"archive": ("x.zip", b"not a zip", "application/zip")}
    refused = shop.post("/publish", files=bad, headers=OURS, follow_redirects=False)
    assert 400 <= refused.status_code < 500 and 'role="alert"' in refused.text


def test_a_token_made_on_the_page_is_shown_once_works_and_can_be_revoked(shop: Site) -> None:
    logged_in(shop)
    text = act(shop, "/account/tokens", holder="crew", scopes="publish:crew", note="ci", days="30").text
    made = re.search(r'id="new-token">(mtr_\w+)<', text)
    assert made
    assert shop.publish("crew-skill", "1.0.0", token=made[1], query="namespace=crew").status_code == 201
    again = shop.get("/account", headers=HTML).text
    assert made[1] not in again
    number = re.search(rf'{made[1][:10]}.*?name="token" value="(\d+)"', again, re.DOTALL)
    assert number
    act(shop, "/account/revoke", token=number[1])
    assert shop.get("/skills/crew-skill", token=made[1]).status_code == 401
    assert "unknown scope" in act(shop, "/account/tokens", holder="crew", scopes="everything").text


def test_a_report_reaches_the_admin_and_accepting_it_quarantines_the_skill(shop: Site) -> None:
    assert "Report sent" in act(shop, "/skill/tide-tables/report", reason="malicious", details="steals <b>keys</b>").text
    assert shop.get("/admin", headers=HTML).status_code == 401
    reader = create_token(shop, "crew", "read")
    logged_in(shop)
    text = shop.get("/admin", headers=HTML).text
    assert "steals &lt;b&gt;keys&lt;/b&gt;" in text
    number = re.search(r'name="report" value="(\d+)"', text)
    assert number
    act(shop, "/admin/reports", report=number[1], state="accepted", note="looked at it")
    assert shop.get("/skills/tide-tables", token=reader).status_code == 403
    text = shop.get("/admin", headers=HTML).text
    assert "Release" in text and "report-resolve" in text
    act(shop, "/admin/release", name="tide-tables")
    assert shop.get("/skills/tide-tables").status_code == 200
    act(shop, "/admin/quarantine", name="tide-tables", reason="again")
    assert shop.get("/search", headers=HTML).text.count("tide-tables") == 0


def test_the_admin_page_is_hidden_from_other_users(shop: Site) -> None:
    logged_in(shop, create_token(shop, "crew", "publish:crew yank"))
    assert shop.get("/admin", headers=HTML).status_code == 403
    assert act(shop, "/admin/quarantine", name="tide-tables", reason="x").status_code == 403
    assert "Yank" not in shop.get("/skill/tide-tables/versions", headers=HTML).text


def test_logging_out_forgets_the_token(shop: Site) -> None:
    logged_in(shop)
    assert act(shop, "/logout").status_code == 303
    shop.client.cookies.clear()
    assert shop.get("/account", headers=HTML).status_code == 401


def test_a_page_that_is_not_there_says_so_in_html_and_the_api_in_json(shop: Site) -> None:
    assert "</html>" in shop.get("/nowhere", headers=HTML).text
    assert shop.get("/nowhere").json()["status"] == 404


def test_static_files_are_kept_for_ever_under_their_stamped_address(shop: Site) -> None:
    address = re.search(r'href="(/static/site\.css\?\w+)"', shop.get("/", headers=HTML).text)
    assert address
    assert "immutable" in shop.get(address[1]).headers["cache-control"]
    assert shop.get("/static/../templates.py").status_code == 404
    assert shop.get("/static/nothing.css").status_code == 404


def test_a_file_that_is_not_text_is_not_shown(shop: Site) -> None:
    shop.publish("with-picture", "1.0.0", files={"assets/dot.bin": b"\0\1\2", "assets/long.txt": "x\n" * 6000})
    assert "Not a text file" in shop.get("/skill/with-picture/file/assets/dot.bin", headers=HTML).text
    assert "Only the first 5,000 lines" in shop.get("/skill/with-picture/file/assets/long.txt", headers=HTML).text
    assert shop.get("/skill/with-picture/file/assets/none.txt", headers=HTML).status_code == 404
