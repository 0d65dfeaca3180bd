"""The pages in a real browser, against a real server, as a person uses them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from registry.builders import archive
from registry.server_process import ServerProcess, serve

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install Debian's package chromium")

HOSTILE = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg/onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<a href='javascript:window.pwned=1'>a</a>",
    "[click](javascript:window.pwned=1)",
    "[click](JaVaScRiPt&colon;window.pwned=1)",
    "[click](data:text/html;base64,PHNjcmlwdD5wYXJlbnQucHduZWQ9MTwvc2NyaXB0Pg==)",
    "![x](x\" onerror=\"window.pwned=1)",
    "![x](javascript:window.pwned=1)",
    "<https://example.com/\"onmouseover=\"window.pwned=1>",
    "```html\n</code></pre><script>window.pwned=1</script>\n```",
    "```\"><script>window.pwned=1</script>\nx\n```",
    "# </title><script>window.pwned=1</script>",
    "<style>@import 'javascript:window.pwned=1';</style>",
    "<math><mtext></p><style><img src=x onerror=window.pwned=1></style>",
    "<form action='javascript:window.pwned=1'><button>go</button></form>",
    "<div hx-get='/admin' hx-trigger='load' hx-on:load='window.pwned=1'>x</div>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "{{ 7*7 }} {% raw %} ${7*7} <%= 7*7 %>",
    "| a |\n|---|\n| <script>window.pwned=1</script> |",
    "[ref]: javascript:window.pwned=1\n\n[ref]",
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serve(tmp_path_factory.mktemp("home")) as made:
        made.publish(archive("tide-tables", "1.0.0", description="Reads tide tables", body="# Tides\n\nhigh water\n"))
        made.publish(archive("tide-tables", "1.1.0", description="Reads tide tables", body="# Tides\n\nlow water\n"))
        made.publish(archive("star-map", "1.0.0", description="Draws the stars above a town"))
        page = {"references/page.html": "<script>window.pwned=1</script>"}
        made.publish(archive("hostile-text", "1.0.0", description="Looks like a page", body="\n\n".join(HOSTILE), files=page))
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser, server: ServerProcess) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=server.url)
    made.set_default_timeout(120_000)
    yield made
    made.close()


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Page]:
    """A page on which nothing goes wrong: no script fails, nothing is loaded from elsewhere, no dialog opens."""
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: wrong.append(request.url) if "127.0.0.1" not in request.url else None)
    yield page
    assert wrong == []


def log_in(page: Page, server: ServerProcess) -> None:
    page.goto("/login")
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/account")


def test_results_appear_while_typing_and_link_to_the_skill(tab: Page) -> None:
    tab.goto("/")
    tab.get_by_label("Search skills").press_sequentially("tide tab", delay=20)
    expect(tab.get_by_role("link", name="tide-tables")).to_be_visible()
    expect(tab.get_by_role("link", name="star-map")).to_have_count(0)
    tab.get_by_role("link", name="tide-tables").click()
    expect(tab.get_by_role("heading", name="tide-tables", level=1)).to_be_visible()
    expect(tab.get_by_text("low water")).to_be_visible()


def test_filters_follow_each_choice_and_stay_in_the_address(tab: Page) -> None:
    tab.goto("/search?q=tide")
    expect(tab.get_by_role("button", name="Filter")).to_be_hidden()
    tab.get_by_label("Sort by").select_option("name")
    tab.wait_for_url("**sort=name**")
    tab.get_by_label("Owner").fill("unknown")
    tab.get_by_label("Owner").press("Tab")
    expect(tab.get_by_text("No matches")).to_be_visible()


def test_the_install_command_of_each_client_is_copied(tab: Page, context: BrowserContext, server: ServerProcess) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server.url)
    tab.goto("/skill/tide-tables")
    tab.get_by_role("button", name="Copy").click()
    expect(tab.get_by_role("button", name="Copied")).to_be_visible()
    assert tab.evaluate("navigator.clipboard.readText()") == "metier skill install r9s:tide-tables"
    tab.get_by_text("npx skills", exact=True).click()
    tab.get_by_role("button", name="Copy").click()
    assert tab.evaluate("navigator.clipboard.readText()") == f"npx skills add {server.url} --skill tide-tables"


def test_two_versions_are_compared(tab: Page) -> None:
    tab.goto("/skill/tide-tables/versions")
    tab.get_by_label("Compare").select_option("1.0.0")
    tab.get_by_label("with").select_option("1.1.0")
    tab.get_by_role("button", name="Show diff").click()
    expect(tab.locator("tr.removed").last).to_contain_text("high water")
    expect(tab.locator("tr.added").last).to_contain_text("low water")


def test_a_skill_is_published_and_yanked_on_the_pages(tab: Page, server: ServerProcess, tmp_path: Path) -> None:
    packed = tmp_path / "sun-dial.zip"
    packed.write_bytes(archive("sun-dial", "2.0.0", description="Tells the time by the sun"))
    log_in(tab, server)
    tab.goto("/publish")
    tab.get_by_label("Archive").set_input_files(packed)
    tab.get_by_role("button", name="Dry run").click()
    expect(tab.get_by_text("ready to publish")).to_be_visible()
    tab.get_by_label("Archive").set_input_files(packed)
    tab.get_by_role("button", name="Publish", exact=True).click()
    expect(tab.get_by_role("heading", name="sun-dial", level=1)).to_be_visible()
    tab.get_by_role("link", name="Versions").click()
    tab.get_by_placeholder("Reason").fill("clouds")
    tab.get_by_role("button", name="Yank").click()
    expect(tab.get_by_text("clouds", exact=True)).to_be_visible()
    expect(tab.get_by_role("button", name="Undo yank")).to_be_visible()


@pytest.mark.parametrize("path", ["", "/files", "/file/SKILL.md", "/file/references/page.html", "/security"])
def test_hostile_text_stays_text(tab: Page, path: str) -> None:
    tab.goto(f"/skill/hostile-text{path}")
    for link in tab.locator("main a").all():
        assert not (link.get_attribute("href") or "").lower().startswith(("javascript", "data", "vbscript"))
    for place in tab.locator("#readme *").all():
        assert all(not name.startswith(("on", "hx-", "data-hx")) for name in place.evaluate("e => e.getAttributeNames()"))
    assert tab.locator("#readme script, #readme img, #readme iframe, #readme form, #readme style, #readme svg").count() == 0
    tab.wait_for_timeout(100)
    assert tab.evaluate("window.pwned") is None


def test_a_raw_file_is_downloaded_and_never_shown_as_a_page(context: BrowserContext, server: ServerProcess) -> None:
    answer = context.request.get(f"{server.url}/skills/hostile-text/files/references/page.html")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "attachment" in answer.headers["content-disposition"]


def test_pages_work_without_javascript(browser: Browser, server: ServerProcess) -> None:
    context = browser.new_context(base_url=server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.get_by_label("Search skills").fill("stars")
    page.get_by_label("Search skills").press("Enter")
    page.get_by_role("link", name="star-map").click()
    page.get_by_text("clawhub", exact=True).click()
    expect(page.locator("#install-clawhub")).to_be_visible()
    expect(page.get_by_role("button", name="Copy").first).to_be_hidden()
    log_in(page, server)
    page.goto("/search")
    expect(page.get_by_role("button", name="Filter")).to_be_visible()
    context.close()


def test_the_keyboard_reaches_everything(tab: Page) -> None:
    tab.goto("/skill/tide-tables")
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Skip to content")).to_be_focused()
    tab.keyboard.press("/")
    expect(tab.get_by_label("Search skills")).to_be_focused()
    tab.get_by_label("metier", exact=True).focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#install-npx")).to_be_visible()


def test_dark_mode_follows_the_system_and_stays_readable(browser: Browser, server: ServerProcess) -> None:
    for scheme in ("light", "dark"):
        context = browser.new_context(base_url=server.url, color_scheme=scheme)
        page = context.new_page()
        page.goto("/skill/tide-tables")
        low = page.evaluate(CONTRAST)
        assert low == [], scheme
        context.close()


CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = node => { for (; node; node = node.parentElement) {
    const colour = rgb(getComputedStyle(node).backgroundColor); if (colour.length < 4 || colour[3] > 0) return colour; }
    return [255, 255, 255]; };
  const low = [];
  for (const node of document.querySelectorAll("main *, header *")) {
    const text = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
    if (!text || node.closest("svg") || !node.offsetParent) continue;
    const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) low.push(`${node.tagName} ${node.className} ${node.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return low;
}"""
