"""The name, the welcome text and the logo of a registry's pages."""

from __future__ import annotations

from pathlib import Path

from metier.registry import Site
from registry.builders import site

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def test_without_settings_the_pages_show_the_address_and_our_icon(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        page = here.get("/").text
        assert "/static/icon.svg" in page
        assert 'class="welcome"' not in page
        assert here.get("/logo").status_code == 404


def test_the_administrator_names_the_site_and_welcomes_people(tmp_path: Path) -> None:
    with site(tmp_path, site=Site(name="Skills of <Acme>", welcome="Ask #skills & wait.")) as here:
        page = here.get("/").text
        assert "Find a skill · Skills of &lt;Acme&gt;</title>" in page
        assert "Ask #skills &amp; wait." in page
        assert "Skills of &lt;Acme&gt;" in here.get("/search").text
        assert "Skills of &lt;Acme&gt;" in here.get("/no-such-page", headers={"accept": "text/html"}).text


def test_a_logo_is_shown_and_runs_no_script(tmp_path: Path) -> None:
    logo = tmp_path / "acme.svg"
    logo.write_bytes(SVG)
    with site(tmp_path, site=Site(logo=str(logo))) as here:
        assert 'src="/logo"' in here.get("/").text
        answer = here.get("/logo")
        assert (answer.content, answer.headers["content-type"]) == (SVG, "image/svg+xml")
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
