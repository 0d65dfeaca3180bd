"""Every page on a phone and on a desk, light and dark: nothing scrolls sideways, and axe finds nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from metier.registry.web.routes import ROUTES
from registry.builders import archive
from registry.server_process import ServerProcess, serve

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install Debian's package chromium")

PHONE: ViewportSize = {"width": 360, "height": 740}
DESK: ViewportSize = {"width": 1280, "height": 900}
NAME = "a-skill-with-quite-a-long-name-for-a-narrow-screen"
PAGES = {
    "/": ["/", "/?none"],
    "/search": ["/search", "/search?q=tide", "/search?q=nothing-like-it", "/search?q=tide&sort=name&owner=admin"],
    "/owner/{namespace}": ["/owner/admin"],
    "/docs": ["/docs"],
    "/playground": ["/playground", "/playground?q=when+is+the+tide+high", "/playground?q=nothing-like-it"],
    "/skill/{name}": [f"/skill/{NAME}", f"/skill/{NAME}?version=1.0.0", "/skill/none"],
    "/skill/{name}/files": [f"/skill/{NAME}/files"],
    "/skill/{name}/file/{path...}": [f"/skill/{NAME}/file/SKILL.md", f"/skill/{NAME}/file/scripts/run.py"],
    "/skill/{name}/versions": [f"/skill/{NAME}/versions"],
    "/skill/{name}/diff": [f"/skill/{NAME}/diff?from=1.0.0&to=1.1.0"],
    "/skill/{name}/security": [f"/skill/{NAME}/security"],
    "/review": ["/review"],
    "/review/{name}/{version}": [f"/review/{NAME}/2.0.0"],
    "/login": ["/login"],
    "/login/sso": [],
    "/login/callback": ["/login/callback"],
    "/invite/{code}": ["/invite/none"],
    "/device": ["/device", "/device?user_code=BCDF-GHJK"],
    "/publish": ["/publish"],
    "/account": ["/account"],
    "/admin": ["/admin"],
    "/static/{path...}": [],
    "/logo": [],
}
BODY = f"""# Tides

Run `{"long" * 30}` first.

## Steps

```sh
curl --silent --show-error --location {"x" * 120} | sort | uniq -c | sort -rn
```

| column | {"w" * 60} | third | fourth | fifth | sixth |
|---|---|---|---|---|---|
| high water | low water | {"z" * 80} | 1 | 2 | 3 |

https://example.com/{"path/" * 30}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    script = {"scripts/run.py": "import os\n\nos.system('curl https://example.com/' + '" + "y" * 200 + "')\n"}
    with serve(tmp_path_factory.mktemp("home")) as made:
        for version in ("1.0.0", "1.1.0"):
            body = BODY.replace("high", "higher") if version == "1.1.0" else BODY
            made.publish(archive(NAME, version, description="Reads tide tables. " * 20, body=body, files=script))
        draft = archive(NAME, "2.0.0", description="Reads tide tables. " * 20, body=BODY.replace("low", "lower"), files=script)
        made.publish(draft, query="visibility=public&draft=1")
        made.publish(archive("star-map", "1.0.0", description="Draws the stars above a town"))
        link = made.ask_page("/admin/invite", {"scopes": "publish:a-namespace-with-a-long-name read yank tokens", "days": "7"})
        made.ask_page(f"/invite/{link.partition('/invite/')[2][:43]}", {"name": "a-user-with-quite-a-long-name"})
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield started
        started.close()


@pytest.fixture(
    params=[(PHONE, "light"), (PHONE, "dark"), (DESK, "light"), (DESK, "dark")], ids=lambda p: f"{p[0]['width']}-{p[1]}"
)
def tab(request: pytest.FixtureRequest, browser: Browser, server: ServerProcess) -> Iterator[Page]:
    size, scheme = request.param
    context = browser.new_context(base_url=server.url, viewport=size, color_scheme=scheme)
    context.set_default_timeout(120_000)
    yield context.new_page()
    context.close()


def log_in(page: Page, server: ServerProcess) -> None:
    page.goto("/login")
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/account")


def problems(page: Page, address: str) -> list[str]:
    page.goto(address)
    # A focused field scrolls and an animation changes colours; the page counts as it is at rest.
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    found = [f"{address} scrolls sideways by {wide} px: {page.evaluate(WIDEST)}"] if wide else []
    if page.viewport_size == PHONE:
        found += [f"{address}: {place} scrolls sideways" for place in page.evaluate(SCROLLING)]
    for violation in Axe().run(page).response["violations"]:
        nodes = "; ".join(node["html"][:140] for node in violation["nodes"][:3])
        found.append(f"{address} {violation['id']}: {nodes}")
    return found


def test_every_page_is_listed_here() -> None:
    assert {route.path for route in ROUTES if route.method == "GET"} == set(PAGES)


def test_every_page_fits_and_is_accessible(tab: Page, server: ServerProcess) -> None:
    addresses = [address for pages in PAGES.values() for address in pages]
    found = [problem for address in addresses for problem in problems(tab, address)]
    log_in(tab, server)
    found += [problem for address in addresses for problem in problems(tab, address)]
    assert found == []


def test_search_on_a_phone_starts_with_the_box_and_the_results(browser: Browser, server: ServerProcess) -> None:
    context = browser.new_context(base_url=server.url, viewport=PHONE)
    page = context.new_page()
    page.goto("/search?q=stars")
    assert page.get_by_role("link", name="star-map").is_visible()
    box = page.get_by_role("link", name="star-map").bounding_box()
    assert box is not None and box["y"] < PHONE["height"] / 2
    expect(page.get_by_label("Sort by")).to_be_hidden()
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Sort by").select_option("name")
    page.wait_for_url("**sort=name**")
    context.close()


WIDEST = """() => [...document.querySelectorAll("body *")].filter(node => node.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 3).map(node => node.outerHTML.slice(0, 120))"""
SCROLLING = """() => [...document.querySelectorAll("body *")]
  .filter(node => node.scrollWidth > node.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(node).overflowX))
  .filter(node => !["INPUT", "TEXTAREA", "SELECT"].includes(node.tagName)).map(node => node.outerHTML.slice(0, 120))"""
