"""The documentation site builds strictly, has every page in its navigation, and needs no other server."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from metier import errors
from metier.cli.core.commands import GROUPS
from metier.config import KEYS
from metier.scan import RULES
from metier.spec import CODES
from tools.docs import list_versions
from tools.documentation.build import copy_commands_only, nav_files, read_nav
from tools.documentation.pages import DOCUMENTS, copy_pages
from tools.documentation.reference import PARTS, command_files, package_files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def build(target: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.documentation.build", str(ROOT), str(target), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "0.2"
    # The pages of the Python packages take most of the time.
    done = build(target, *([] if os.environ.get("METIER_FULL") else ["--no-python"]))
    assert done.returncode == 0, done.stderr
    return target


def test_no_page_of_the_site_loads_anything_from_another_server(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\s\"'>]+", text)
        loaded += re.findall(r"<link\b[^>]*\bhref=[\"']?(?:https?:)?//[^\s\"'>]+", text)
        assert loaded == [], page.relative_to(site)


def test_search_works_from_disk(site: Path) -> None:
    """Types a word on a page that was opened as a file: no server, and none is asked."""
    if not (chromium := shutil.which("chromium")):
        pytest.skip("chromium is not installed")
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "tutorials/author.html").as_uri())
        box = page.get_by_role("combobox")
        # The button does nothing until the page's script has run.
        for _ in range(600):
            if box.is_visible():
                break
            page.locator("button", has_text="Search").first.click()
            page.wait_for_timeout(100)
        box.press_sequentially("yank")
        page.get_by_role("option", name="metier skill yank").first.wait_for()
        assert box.input_value() == "yank"
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_version_menu_works_from_disk(site: Path) -> None:
    """Chooses another version on a page that was opened as a file."""
    if not (chromium := shutil.which("chromium")):
        pytest.skip("chromium is not installed")
    other = site.parent / "0.1"
    other.mkdir(exist_ok=True)
    (other / "index.html").write_text("<title>Version 0.1</title>")
    list_versions(site.parent)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto((site / "tutorials/author.html").as_uri())
        assert page.locator(".md-version__current").inner_text().strip() == "0.2"
        page.locator(".md-version").hover()
        page.locator(".md-version__link", has_text="0.1").click()
        page.wait_for_url("**/0.1/index.html")
        assert page.title() == "Version 0.1"
        browser.close()


def test_a_tutorial_shows_files_by_name_and_no_markup_of_transcripts(site: Path) -> None:
    text = (site / "tutorials/author.html").read_text(encoding="utf-8")
    assert ("scripts/add_columns.py</span>" in text, "[[" in text) == (True, False)


def test_the_copy_button_of_a_console_block_copies_the_commands_alone(site: Path) -> None:
    text = (site / "tutorials/author.html").read_text(encoding="utf-8")
    copied = [html.unescape(each) for each in re.findall(r'data-copy="([^"]*)"', text)]
    assert copied[0].startswith("metier skill create csv-totals --template script \\\n    -d ")
    assert copied[0].endswith('"\ncd ~/.metier/skills/csv-totals')
    assert not [each for each in copied if "✓" in each or each.startswith("$")]


def test_a_block_without_commands_is_copied_whole() -> None:
    block = '<div class="language-console highlight"><pre><code>only output\n</code></pre></div>'
    assert copy_commands_only(block) == block


def test_the_build_fails_for_a_link_and_an_anchor_that_lead_nowhere(tmp_path: Path) -> None:
    from tools.documentation import build as site_build

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Start\n\n[page](nowhere.md) and [anchor](#nothing)\n")
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "metier"\nnav = ["index.md"]\n')
    done = site_build.run_generator(tmp_path)
    assert "page does not exist" in done
    assert "anchor does not exist" in done


def test_every_page_is_in_the_navigation_once() -> None:
    listed = nav_files(read_nav(ROOT))
    assert len(listed) == len(set(listed))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if not page.match("adr/[0-9]*.md")}
    missing = sorted(pages - set(listed))
    assert not missing, f"add {', '.join(missing)} to `nav` in zensical.toml"
    assert set(listed) - pages == set(DOCUMENTS.values())


def test_the_reference_has_every_command_setting_code_and_error() -> None:
    commands = "\n".join(text for _, _, text in command_files())
    for group, rows in GROUPS.items():
        for name, (location, _) in rows.items():
            if location:
                assert f"metier {group} {name}".replace("  ", " ") in commands
    assert set(re.findall(r"^\| `([\w.]+)` \|", PARTS["settings"](), re.MULTILINE)) == set(KEYS)
    codes = {*CODES, *(rule.code for rule in RULES.values())}
    assert set(re.findall(r"^### (\w+) ", PARTS["rules"](), re.MULTILINE)) == codes
    assert {getattr(errors, name).code for name in errors.__all__ if name.endswith("Error")} == set(
        re.findall(r"^\| `([\w-]+)` \|", PARTS["errors"](), re.MULTILINE)
    )


def test_the_reference_has_every_public_name() -> None:
    pages = "\n".join(text for _, _, text in package_files(ROOT))
    for line in (ROOT / "tests/project/public_api.txt").read_text(encoding="utf-8").splitlines():
        assert f"- {line.partition(': ')[2]}\n" in pages, line


def test_links_out_of_the_documentation_lead_to_pages_of_the_site(tmp_path: Path) -> None:
    copy_pages(ROOT, tmp_path / "docs", PARTS)
    assert "(changelog.md)" in (tmp_path / "docs/index.md").read_text(encoding="utf-8")
    assert "(sandbox.md)" in (tmp_path / "docs/security.md").read_text(encoding="utf-8")


def test_the_newest_version_is_the_start_page(tmp_path: Path) -> None:
    for version in ("0.2", "0.10", "0.9"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").write_text("")
    list_versions(tmp_path)
    assert "url=0.10/index.html" in (tmp_path / "index.html").read_text()
    assert re.findall(r'"version": "([\d.]+)"', (tmp_path / "versions.json").read_text()) == ["0.10", "0.9", "0.2"]
