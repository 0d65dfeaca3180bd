"""`browser NAME ADDRESS [STEP…]`: a person named NAME uses Chromium, which keeps the cookies of each name.

Steps are `click TEXT`, `fill LABEL=VALUE` and `uncheck TEXT`. Prints the headline and the text of the last page.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
              "--no-proxy-server"]  # fmt: skip


def main(name: str, address: str, *steps: str) -> None:
    # The provider signs in as this person when it is asked next.
    request = urllib.request.Request(f"{os.environ['ISSUER']}/as/{name}", method="PUT")
    urllib.request.urlopen(request, timeout=10).close()
    with sync_playwright() as playwright:
        profile = Path.home() / f".browser-{name}"
        context = playwright.chromium.launch_persistent_context(str(profile), executable_path=CHROMIUM, args=_ARGUMENTS)
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(address)
        for step in steps:
            take(page, *step.split(" ", 1))
        sys.stdout.write("".join(f"{line}\n" for line in lines(page)))
        context.close()


def take(page: Page, verb: str, rest: str) -> None:
    if verb == "click":
        page.get_by_role("button", name=rest).or_(page.get_by_role("link", name=rest)).first.click()
        page.wait_for_load_state()
    elif verb == "fill":
        label, _, value = rest.partition("=")
        page.get_by_label(label).fill(value)
    else:
        page.get_by_label(rest, exact=True).uncheck()


def lines(page: Page) -> list[str]:
    if page.locator("main").count() == 0:
        return [page.locator("body").inner_text().strip()[:300]]
    text = page.locator("main").inner_text()
    return [line for line in (re.sub(r"\s+", " ", row).strip() for row in text.splitlines()) if line]


if __name__ == "__main__":
    main(*sys.argv[1:])
