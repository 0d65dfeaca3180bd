"""A readme is rendered once, within a budget; one that is too expensive is shown as plain text, and delays no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from metier.registry.domain.registry import WorkLimits
from metier.registry.server.documents import Documents
from metier.registry.workers import WorkBudgetError
from metier.testing import run_now
from registry.builders import WORKERS, site

BRACKETS = "![" * 40_000


@pytest.mark.parametrize("path", ["/skill/costly", "/skills/costly/readme"])
def test_a_document_over_its_budget_is_shown_as_text(tmp_path: Path, path: str) -> None:
    with site(tmp_path, work=WorkLimits(page_seconds=0.2)) as here:
        assert here.publish("costly", "1.0.0", body=f"<b>{BRACKETS}\n").status_code == 201
        here.publish("plain", "1.0.0", body="# Title\n")
        for _ in range(2):
            page = here.get(path)
            assert page.status_code == 200
            assert "Shown as plain text: this document is too expensive to show" in page.text
            assert "&lt;b&gt;![![" in page.text
        assert '<h1 id="skill-title">Title</h1>' in here.get("/skill/plain").text


def test_a_document_is_made_once_for_all_who_ask(tmp_path: Path) -> None:
    async def body() -> None:
        documents = Documents(WORKERS.pages, WorkLimits())
        loads: list[int] = []

        async def load() -> tuple[str]:
            loads.append(1)
            await asyncio.sleep(0)
            return ("text",)

        made = await asyncio.gather(*(documents.html("key", str.upper, load) for _ in range(8)))
        assert made == ["TEXT"] * 8
        assert await documents.html("key", str.upper, load) == "TEXT"
        assert len(loads) == 1

    run_now(body())


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    async def body() -> None:
        documents = Documents(WORKERS.pages, WorkLimits())
        loads: list[str] = []

        async def read(key: str) -> str:
            async def load() -> tuple[str]:
                loads.append(key)
                return ("a" * 6_000_000,)

            return await documents.html(key, str.upper, load)

        for key in ("first", "second", "third", "third", "first"):
            assert len(await read(key)) == 6_000_000
        assert loads == ["first", "second", "third", "first"]

    run_now(body())


def test_a_page_does_not_wait_for_a_document_that_is_not_ready(tmp_path: Path) -> None:
    async def body() -> None:
        documents = Documents(WORKERS.pages, WorkLimits(page_wait_seconds=0.0))

        async def read() -> str:
            return "<text>"

        first = await documents.readme("key", str.upper, read)
        assert "not ready yet" in first
        assert "&lt;text&gt;" in first
        while (made := await documents.readme("key", str.upper, read)) != "<TEXT>":
            assert "not ready yet" in made
            await asyncio.sleep(0.01)

    run_now(body())


def test_an_error_of_the_files_reaches_the_page(tmp_path: Path) -> None:
    async def body() -> None:
        async def load() -> tuple[str]:
            raise WorkBudgetError("never", hint="")

        with pytest.raises(WorkBudgetError):
            await Documents(WORKERS.pages, WorkLimits()).html("key", str.upper, load)

    run_now(body())
