"""One set of searches, one order, on both engines."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from metier.registry.blobs import open_blobs
from metier.registry.domain.access import ANONYMOUS
from metier.registry.domain.protocols import nothing
from metier.registry.domain.queries import ListPage, ListQuery, Queries
from metier.registry.domain.records import PackageFilters, Sort
from metier.registry.domain.search import parse_query, rank
from metier.registry.domain.search_terms import forms, is_one_slip
from metier.registry.store import SqlStore, open_store
from metier.registry.store.row_copy import copy_rows
from metier.testing.registry import draft
from registry.servers import Postgres

T = TypeVar("T")
OWN = {
    "pdf": "Reads, merges and fills PDF files.",
    "code-review": "Reviews code for bugs and security.",
    "kubernetes-deploy": "Deploys services to a cluster.",
    "graphql-implementation": "Builds a GraphQL server.",
    "prompt-engineering": "Writes better prompts.",
    "internationalization": "Makes a program speak many languages.",
    "responsive-web-design": "Designs pages for phones.",
    "travel-guide": "Plans a trip to a city.",
    "draft-nda": "Drafts a non-disclosure agreement.",
    "markitdown": "Turns files into Markdown.",
    "follow-up-email": "Writes an email after a meeting.",
    "product-manager": "Thinks like a product manager.",
    "bug-triage-and-severity-classification": "Sorts reports of bugs.",
    "crane-operator": "Knows cranes.",
}
FINDS = {
    "graphql": "graphql-implementation",
    "prompt engineering": "prompt-engineering",
    "internationalization": "internationalization",
    "responsive design": "responsive-web-design",
    "travel guide": "travel-guide",
    "markitdown": "markitdown",
    "follow up email": "follow-up-email",
    "product manager": "product-manager",
    "bug triage severity": "bug-triage-and-severity-classification",
    "crane operator": "crane-operator",
    "draft nda": "draft-nda",
    # typed in a hurry
    "graphq": "graphql-implementation",
    "internatonalization": "internationalization",
    "promt engineering": "prompt-engineering",
    "trvel guide": "travel-guide",
    "crane opreator": "crane-operator",
    "responsive-web-desing": "responsive-web-design",
}
ALSO = (
    "pdf", "code review", "security", "kubernetes cluster", "write unit tests python", "data analysis csv", "sql query",
    "react", "help me plan the launch of a product", "docker", "meeting notes", "web scraping", "git commit message",
    "machine learning", "legal contract", "api", "the", "design review accessibility audit", "zzzz",
)  # fmt: skip
SUBJECTS = ("api", "contract", "csv", "dashboard", "docker", "git", "kubernetes", "meeting", "react", "sql", "test", "web")
TASKS = {
    "design": "Designs the {} step by step and reviews its accessibility.",
    "audit": "Audits a {} for security and design mistakes.",
    "notes": "Writes notes about each {} and the next steps of a product.",
    "analysis": "Analyses data of every {} with Python and plans unit tests.",
    "search": "Searches the {} for a message and scrapes what it finds.",
}


def skills() -> Iterator[tuple[str, str, str]]:
    """Name, description and body of the packages to search."""
    yield from ((name, about, "") for name, about in OWN.items())
    for subject in SUBJECTS:
        for task, about in TASKS.items():
            yield f"{subject}-{task}", about.format(subject), f"Use it for the {task} of one {subject}, then commit the query."


@pytest.fixture(scope="module")
def filled() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))

    async def fill() -> None:
        store = await open_store(f"sqlite://{folder}/r.sqlite")
        for number, (name, about, body) in enumerate(skills()):
            await store.publish(
                draft(name, description=about, body=body, at=1_000 + number, tags=("t",) if number % 2 else ()), None
            )
        await store.close()

    asyncio.run(fill())
    yield f"sqlite://{folder}/r.sqlite"
    shutil.rmtree(folder)


def with_store(url: str, body: Callable[[SqlStore, Queries], Awaitable[T]]) -> T:
    async def run() -> T:
        store = await open_store(url)
        try:
            return await body(store, Queries(store, open_blobs("memory://"), lambda: 0))
        finally:
            await store.close()

    return asyncio.run(run())


def names(found: ListPage) -> list[str]:
    return [card.name for card in found.packages]


async def all_of_them(_: SqlStore, queries: Queries) -> dict[str, list[str]]:
    return {query: names(await queries.find(ANONYMOUS, ListQuery(query=query, limit=10))) for query in (*FINDS, *ALSO)}


def test_the_intended_skill_is_among_the_first_results_despite_a_typo(filled: str) -> None:
    found = with_store(filled, all_of_them)
    assert {query: name for query, name in FINDS.items() if name not in found[query][:3]} == {}
    assert found["zzzz"] == []


def test_both_engines_give_the_same_first_ten(filled: str, postgres: Postgres) -> None:
    with postgres.database() as url:

        async def fill(store: SqlStore, _: Queries) -> None:
            other = await open_store(url)
            async with store.engine.snapshot() as reader:
                await copy_rows(reader, store.engine.dialect, other)
            await other.close()

        with_store(filled, fill)
        one, two = with_store(filled, all_of_them), with_store(url, all_of_them)
    assert {query: (one[query], two[query]) for query in one if one[query] != two[query]} == {}


WORDS = [f"{one}{two}" for one in ("al", "be", "co", "du", "er") for two in ("pha", "ton", "rix", "mon", "sel", "gar")]


def crowded() -> Iterator[tuple[str, str, str]]:
    """Skills of few words, so that every search matches more of them than a search returns."""
    source = random.Random(3)
    shares = [1 / (1 + place) for place in range(len(WORDS))]
    taken = {"alpha"}
    yield "alpha", "The one.", ""
    for number in range(900):
        about, body = source.choices(WORDS, shares, k=8), source.choices(WORDS, shares, k=12)
        name = "-".join(source.choices(WORDS, shares, k=source.choice((2, 2, 3))))
        yield (f"{name}-{number}" if name in taken else name), " ".join(about), " ".join(body)
        taken.add(name)


@pytest.fixture(scope="module")
def crowd() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))

    async def fill() -> None:
        store = await open_store(f"sqlite://{folder}/r.sqlite")
        async with store.engine.transaction() as transaction:
            for number, (name, about, body) in enumerate(crowded()):
                made = draft(name, description=about, body=body, at=1_000 + number)
                package, _, _ = await store.publish_in(transaction, made, None, nothing)
                count = 1_000_000 // (1 + (number * 7919) % 901) if number else 0
                await transaction.rows("update package set downloads = ? where id = ?", (count, package.id))
        await store.close()

    asyncio.run(fill())
    yield f"sqlite://{folder}/r.sqlite"
    shutil.rmtree(folder)


@pytest.mark.parametrize("most", [6_000, 40], ids=["every match is read", "common words are searched by downloads"])
def test_both_engines_choose_the_same_of_many_matches(
    crowd: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("metier.registry.store.common_terms._MOST_MATCHES", most)
    source = random.Random(5)
    asked = [" ".join(source.sample(WORDS[:12], 1 + number % 4)) for number in range(40)] + ["al", "alpha bet", "alphb"]

    async def ask(store: SqlStore, queries: Queries) -> dict[str, list[str]]:
        assert await store.count_terms() > 20
        return {query: names(await queries.find(ANONYMOUS, ListQuery(query=query, limit=50))) for query in asked}

    with postgres.database() as url:

        async def fill(store: SqlStore, _: Queries) -> None:
            other = await open_store(url)
            async with store.engine.snapshot() as reader:
                await copy_rows(reader, store.engine.dialect, other)
            await other.close()

        with_store(crowd, fill)
        one, two = with_store(crowd, ask), with_store(url, ask)
    assert {query: (one[query], two[query]) for query in one if one[query] != two[query]} == {}
    assert one["al"] and one["alphb"]


def test_a_search_for_a_common_word_finds_the_most_downloaded_and_the_exact_name(
    crowd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.registry.store.common_terms._MOST_MATCHES", 40)

    async def ask(store: SqlStore, queries: Queries) -> tuple[ListPage, list[str]]:
        await store.count_terms()
        every = await store.browse(PackageFilters(readable_namespaces=None), sort=Sort.DOWNLOADS, after=None, limit=1_000)
        having = [package.name for package in every if "alpha" in package.name.split("-")]
        return await queries.find(ANONYMOUS, ListQuery(query="alpha", limit=50)), having

    found, having = with_store(crowd, ask)
    assert len(having) > 200
    assert names(found)[0] == "alpha"
    assert set(names(found)[1:]) <= set(having[:61])


def test_pages_follow_each_other_without_a_gap_or_a_double(filled: str) -> None:
    async def walk(_: SqlStore, queries: Queries) -> tuple[list[str], list[str]]:
        walked: list[str] = []
        every: list[list[str]] = []
        for query in (ListQuery(sort=Sort.NAME, limit=7), ListQuery(query="design", limit=7)):
            cursor, got = "", []
            for _page in range(30):
                found = await queries.find(ANONYMOUS, ListQuery(query=query.query, sort=query.sort, cursor=cursor, limit=7))
                got += names(found)
                cursor = found.next or ""
                if not cursor:
                    break
            every.append(got)
        walked = every[0]
        return walked, every[1]

    by_name, by_relevance = with_store(filled, walk)
    assert by_name == sorted(by_name)
    assert len(set(by_name)) == len(by_name)
    assert len(set(by_relevance)) == len(by_relevance) > 0


def test_filters_come_before_the_limit(filled: str) -> None:
    async def ask(_: SqlStore, queries: Queries) -> tuple[ListPage, ListPage]:
        query = ListQuery(query="design", filters=PackageFilters(tag="t"), limit=5)
        return await queries.find(ANONYMOUS, query), await queries.find(
            ANONYMOUS, ListQuery(filters=PackageFilters(tag="none"))
        )

    tagged, none = with_store(filled, ask)
    assert tagged.packages
    assert all(card.tags == "t" for card in tagged.packages)
    assert none.packages == []


def test_a_corrected_query_is_reported(filled: str) -> None:
    async def ask(_: SqlStore, queries: Queries) -> ListPage:
        return await queries.find(ANONYMOUS, ListQuery(query="promt engineering"))

    assert with_store(filled, ask).corrected == {"promt": "prompt"}


def test_an_exact_name_must_be_earned_and_downloads_only_break_ties() -> None:
    from msgspec.structs import replace

    async def packages() -> list[object]:
        store = await open_store(f"sqlite://{tempfile.mkdtemp()}/r.sqlite")
        made = [
            (await store.publish(draft(name, description=about), None))[0]
            for name, about in (
                ("review", "Fresh."),
                ("code-review", "Reviews."),
                ("review-tool", "Reviews."),
                ("other", "A review of things."),
            )
        ]
        await store.close()
        return list(made)

    fresh, code, tool, other = asyncio.run(packages())
    query = parse_query("review ")

    def order(*given: object) -> list[str]:
        return [card.name for card in rank(query, given)]  # type: ignore[arg-type]

    popular = replace(other, downloads=1_000_000)  # type: ignore[type-var]
    assert order(popular, code, fresh)[-1] == "other"
    assert order(replace(tool, downloads=100), code)[0] == "review-tool"  # type: ignore[type-var]
    assert order(replace(fresh, signed="acme"), replace(tool, downloads=10_000))[0] == "review"  # type: ignore[type-var]


@pytest.mark.parametrize(("one", "other", "near"), [
    ("kubernets", "kubernetes", True), ("securty", "security", True), ("teh", "the", True), ("abc", "abd", True),
    ("abc", "abc", True),
    ("abc", "acbd", False), ("review", "preview", True), ("code", "coders", False), ("ab", "ba", True), ("abcd", "badc", False),
])  # fmt: skip
def test_one_slip_is_a_letter_more_less_other_or_swapped(one: str, other: str, near: bool) -> None:
    assert is_one_slip(one, other) is near
    assert is_one_slip(other, one) is near
    if near:
        assert set(forms(one)) & set(forms(other))


TYPED = ('"', "a AND b", "name:x", "NEAR(a b)", "*", "-", "'; drop table package; --", "a" * 5000, "漢字 検索", "c++ c#", "é",
         "\u2ddb\U0010c5db ê*GL¼´", "a\0b", "\ud7a3\u0e01 x")  # fmt: skip


def test_whatever_is_typed_is_only_words(filled: str, postgres: Postgres) -> None:
    async def ask(_: SqlStore, queries: Queries) -> list[ListPage]:
        return [await queries.find(ANONYMOUS, ListQuery(query=text)) for text in TYPED]

    with postgres.database() as url:
        assert len(with_store(filled, ask)) == len(with_store(url, ask)) == len(TYPED)


def test_every_alphabet_can_be_searched(tmp_path: Path) -> None:
    typed = ("übersetzt", "ubersetzt", "漢字", "кириллица", "字漢")

    async def ask(store: SqlStore, queries: Queries) -> list[list[str]]:
        await store.publish(draft("translator", description="Übersetzt 漢字 und кириллица."), None)
        return [names(await queries.find(ANONYMOUS, ListQuery(query=text))) for text in typed]

    assert with_store(f"sqlite://{tmp_path}/r.sqlite", ask) == [["translator"]] * 4 + [[]]
