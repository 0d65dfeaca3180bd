"""Takes the screenshots in docs/: the pages of a registry of sample skills, and the evals report of the bundled skills.

    .venv/bin/python -m tools.screenshots [registry] [evals]

Needs Chromium, and the group `servers` (`uv sync --all-extras --all-groups`).
"""

from __future__ import annotations

import asyncio
import math
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from metier.archive import pack
from metier.registry import (
    Caller,
    OidcOptions,
    PackageVisibility,
    PublishRequest,
    Registry,
    ServerOptions,
    Site,
    create_app,
    open_registry,
)
from metier.registry.domain.admission import scan_release
from metier.spec import MemoryFiles
from metier.values import replace

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BUNDLED = ROOT / "src" / "metier" / "sources" / "bundled"
PORT = 8437


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("needs Chromium: install Debian's package chromium", file=sys.stderr)
        return 1
    wanted = sys.argv[1:] or ["registry", "evals"]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        if "registry" in wanted:
            _registry(browser, folder)
        if "evals" in wanted:
            _evals(browser, folder)
        browser.close()
    return 0


def _evals(browser: Browser, folder: str) -> None:
    metier = Path(sys.executable).parent / "metier"
    report = DOCS / "evals-report.html"
    names = sorted(path.parent.name for path in BUNDLED.glob("*/SKILL.md"))
    variables = {"HOME": folder, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    words = [str(metier), "skill", "eval", *names, "--offline", "--tests", "--html", str(report)]
    subprocess.run(words, cwd=folder, env=variables, check=True)
    page = browser.new_page(viewport={"width": 960, "height": 800})
    page.goto(report.as_uri())
    page.screenshot(path=report.with_suffix(".png"), full_page=True)
    print(report.with_suffix(".png"))


def _registry(browser: Browser, folder: str) -> None:
    oidc = OidcOptions(issuer="https://id.example.com", client_id="metier", roles={"*": ("read",)})
    options = ServerOptions(
        db=f"sqlite://{folder}/registry.sqlite",
        blobs=f"file://{folder}/blobs",
        url=f"http://127.0.0.1:{PORT}",
        oidc=oidc,
        site=Site(name="Skills of Example"),
    )
    # Its own thread: Playwright runs an event loop in this one.
    with ThreadPoolExecutor() as threads:
        token = threads.submit(asyncio.run, _fill_registry(options)).result()
        server = uvicorn.Server(uvicorn.Config(create_app(options, scanner=scan_release), port=PORT, log_level="warning"))
        threads.submit(server.run)
        while not server.started:
            time.sleep(0.05)
        desk, phone = (1200, 860), (390, 780)
        for scheme, (width, height), shots in (
            ("light", desk, ("home", "skill", "diff", "playground", "sign-in", "account", "users", "review")),
            ("dark", desk, ("search", "security")),
            ("light", phone, ("phone",)),
        ):
            size = {"width": width, "height": height}
            page = browser.new_page(base_url=options.url, viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            for name in shots:
                _open(page, name, token)
                page.screenshot(path=DOCS / f"registry-{name}.png")
                print(DOCS / f"registry-{name}.png")
        server.should_exit = True


def _open(page: Page, name: str, token: str) -> None:
    if name == "account":
        page.goto("/login")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/account")
    paths = {"home": "/", "search": "/search?q=data", "skill": "/skill/data-analysis", "account": "/account",
             "diff": "/skill/data-analysis/diff?from=1.0.0&to=1.1.0", "security": "/skill/web-scraping/security",
             "sign-in": "/login", "users": "/admin", "review": "/review/data-analysis/1.2.0", "phone": "/search?q=data",
             "playground": "/playground?q=clean+this+csv+file"}  # fmt: skip
    for _ in range(20):
        answer = page.goto(paths[name])
        if answer is not None and answer.ok and "not ready yet" not in page.content():
            return
        # A busy machine makes a comparison later.
        page.wait_for_timeout(1000)
    raise SystemExit(f"{paths[name]} did not open")


async def _fill_registry(options: ServerOptions) -> str:
    registry = await open_registry(options, scanner=scan_release)
    try:
        token = await registry.tokens.create_first(now=registry.clock())
        admin = await registry.tokens.authenticate(token, address="", now=registry.clock())
        for name, scopes in (("ann", ("publish:metier-team", "read")), ("bo", ("review:metier-team", "read"))):
            link = await registry.invitations.create(admin, scopes, days=7, now=registry.clock())
            await registry.invitations.accept(link, name, address="", now=registry.clock())
        for place, folder in enumerate(sorted(path.parent for path in BUNDLED.glob("*/SKILL.md"))):
            await _publish(registry, admin, folder, place)
        return token or ""
    finally:
        await registry.close()


async def _publish(registry: Registry, admin: Caller, folder: Path, place: int) -> None:
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    intent = PublishRequest(namespace="metier-team", visibility=PackageVisibility.PUBLIC, version="1.0.0")
    done = await registry.publisher.publish(admin, lambda: pack(MemoryFiles(files)), intent)
    if folder.name == "data-analysis":
        files["SKILL.md"] = files["SKILL.md"].replace(b"never prompts", b"never asks, never prompts")
        newer = PublishRequest(namespace="metier-team", visibility=PackageVisibility.PUBLIC, version="1.1.0")
        await registry.publisher.publish(admin, lambda: pack(MemoryFiles(files)), newer)
        files["scripts/rates.sh"] = b"#!/bin/sh\ncurl --output rates.csv https://data.tidal-works.io/rates.csv\n"
        files["SKILL.md"] += b"\nGet the exchange rates with `scripts/rates.sh`.\n"
        await registry.reviews.set_demands_review(admin, "metier-team", demanded=True)
        ann = replace(admin, token=None if admin.token is None else msgspec.structs.replace(admin.token, holder="ann"))
        waiting = PublishRequest(namespace="metier-team", version="1.2.0")
        await registry.publisher.publish(ann, lambda: pack(MemoryFiles(files)), waiting)
        await registry.reviews.set_demands_review(admin, "metier-team", demanded=False)
    assert done.package is not None
    today = datetime.now(UTC).date()
    for back in range(90):
        amount = int((12 - place) * (1.6 + math.sin(back / 4 + place)) * (100 - back) / 60)
        day = (today - timedelta(days=back)).isoformat()
        await registry.store.count(day, [(done.package.id, "1.0.0", f"visitor {number}") for number in range(amount)])


if __name__ == "__main__":
    sys.exit(main())
