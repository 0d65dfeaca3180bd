"""Every route with odd text in its path, query, headers and body: an error of the client, never one of the server."""

from __future__ import annotations

import asyncio
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from metier.errors import UsageError
from metier.registry.domain.registry import RequestRates
from metier.registry.server.routing import Route
from metier.registry.store.packages import PACKAGE_COLUMNS
from registry.asgi import RawRequest, send_raw
from registry.builders import Site, archive, site
from registry.servers import Postgres

NO_LIMITS = RequestRates(read=(0, 0), download=(0, 0), write=(0, 0))
ODD = (
    "%00", "a%00b", "%ED%A0%80", "%FF%FE", "%C3%28", "a" * 65, "a" * 9_000, "..", "%2e%2e%2f%2e%2e", "%27%3B--", "%22",
    "%5C", "%25", "%5F",
    "%D9%A3", "%C2%B2", "-1", "9" * 25, "9223372036854775808", "2147483648", "0", "1e999", "NaN", "%0D%0A", "%E2%80%AE",
    "%F0%9F%98%80", "*",
    "%5B%5D", "latest", "%3E%3D1", "1.0.0%2B%00", ">=1%00", "pdf", "1.0.0", "1.0.0.zip", "%00.zip", "pdf.json", "%20",
    "W10", "WzEsIFwiYVwiXQ", "bnVsbA",
)  # fmt: skip
BODIES = (
    b"", b"{", b"[]", b"null", b"\0", b"\xff", b"{}", b'{"a":' * 100_000, b"[" * 200_000, b'{"reason":"\\u0000"}',
    b'{"reason":"\\ud800"}',
    b'{"reason":"a\\\\u0000"}',
    b'{"holder":"a\\u0000","scopes":["read\\u0000"],"note":"\\u0000","days":99999999999999999999}',
    b'{"holder":"acme","scopes":["read"],"note":"\\u0000","days":1}',
    b'{"to":"\\u0000","version":"\\u0000","tag":"\\u0000"}',
    b'{"reason":"spam","details":"\\u0000","version":"\\u0000"}', b'{"public":"\\u0000","note":"\\u0000"}',
    b'{"status":"\\u0000"}',
    b'{"visibility":"\\u0000"}', b'{"keyid":"\\u0000","signature":"\\u0000"}', b'{"bundle":"{\\u0000"}',
    b'{"state":"accepted","note":"\\u0000"}', b'{"path":"a","size":-1,"sha256":"\\u0000"}',
    b'{"path":"a","size":1,"sha256":"' + b"\xc3\x28" * 32 + b'"}',
    b'{"slug":"\\u0000","version":"\\u0000","files":[{"path":"\\u0000","size":1,"storageId":"\\u0000","sha256":"\\u0000"}]}',
    b'{"slug":"a","version":"1","files":[{"path":"../a","size":1,"storageId":"' + b"0" * 64 + b'","sha256":"a"}]}',
)  # fmt: skip
FIELDS = (
    "token",
    "next",
    "version",
    "reason",
    "details",
    "days",
    "holder",
    "scopes",
    "note",
    "report",
    "state",
    "name",
    "namespace",
)
FORM = "multipart/form-data; boundary=b"
MULTIPART = (
    b"", b"--b", b"--b\r\n\r\n", b"--c\r\n\r\n--c--", b"--b--", b"junk",
    b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
    b'--b\r\nContent-Disposition: form-data; name="version"\r\n\r\na\0b\r\n--b--\r\n',
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a\0"\r\n\r\nPK\r\n--b--\r\n',
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\nPK\r\n--b--\r\n',
    b"--b\r\nContent-Disposition\r\n\r\nx\r\n--b--", b"--b\r\n: x\r\n\r\nx\r\n--b--",
    b"--b\r\n\xff\xfe: \0\r\n\r\nx\r\n--b--",
    b'--b\r\nContent-Disposition: form-data; name="n"\r\n\r\n\xff\xfe\r\n--b--\r\n',
)  # fmt: skip
KINDS = (
    FORM, "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; charset=nope; boundary=b",
    "multipart/form-data; boundary=" + "b" * 300, 'multipart/form-data; boundary="b',
    "application/x-www-form-urlencoded; charset=nope", "\xff",
)  # fmt: skip
HEADERS = (
    ("authorization", ""), ("authorization", "Bearer"), ("authorization", "Bearer \xff"), ("authorization", "Basic x"),
    ("authorization", "Bearer " + "a" * 5000), ("authorization", "Bearer mtr_\0"), ("cookie", "metier_token=\0"),
    ("cookie", "metier_token=\"\xff"),
    ("cookie", "metier_token; ;;=;"), ("host", ""), ("host", "\0"), ("host", "[::1"), ("host", "a" * 5000),
    ("origin", "http://[::1"),
    ("origin", "\0"), ("if-none-match", "\0\xff,,,"), ("x-forwarded-for", "\0"), ("content-length", "\xb2"),
    ("content-length", "-1"),
    ("content-type", "\0"), ("hx-request", "\0"), ("range", "bytes=\0"), ("accept", "text/html\0"),
)  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if request.param == "sqlite":
        with site(tmp_path, rates=NO_LIMITS, old_index=True) as made:
            yield made
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with postgres.database() as url, site(tmp_path, db=url, rates=NO_LIMITS, old_index=True) as made:
        yield made


def filled(route: Route, text: str) -> str:
    return re.sub(r"\{(\w+)(?:\.\.\.)?\}", lambda _: text, route.path)


def example(route: Route) -> str:
    """The route's path, with names that exist."""
    known = {
        "name": "pdf",
        "slug": "pdf",
        "version": "1.0.0",
        "archive": "1.0.0.zip",
        "file": "pdf.json",
        "path...": "SKILL.md",
    }
    return re.sub(r"\{([\w.]+)\}", lambda found: known.get(found[1], "acme"), route.path)


def requests(site: Site) -> Iterator[RawRequest]:
    admin = ("authorization", f"Bearer {site.admin}")
    origin = ("origin", "http://registry.test")
    cookie = ("cookie", f"metier_token={site.admin}")
    for place, route in enumerate(site.app.routes.all):
        names = [each.name for each in route.query] or [
            "version",
            "before",
            "from",
            "to",
            "q",
            "cursor",
            "days",
            "path",
            "slug",
            "hash",
        ]
        for text in ODD:
            if "{" in route.path:
                yield RawRequest(route.method, filled(route, text), "", [admin])
            if route.method != "GET":
                continue
            yield RawRequest(route.method, example(route), "&".join(f"{name}={text}" for name in names), [admin])
            for each in route.query:
                yield RawRequest(route.method, example(route), f"{each.name}={text}", [admin])
        # Headers are read before the route, so not every route needs every one.
        for header in HEADERS[place % 4 :: 4]:
            yield RawRequest(route.method, example(route), "", [header])
        if route.method == "GET" or route.path == "/logout" or "delete" in route.path or route.method == "DELETE":
            continue
        for body in BODIES:
            yield RawRequest(route.method, example(route), "", [admin, ("content-type", "application/json")], body)
        for kind in KINDS:
            for body in MULTIPART if kind == FORM else MULTIPART[-1:]:
                yield RawRequest(route.method, example(route), "", [cookie, origin, ("content-type", kind)], body)
        for text in ODD:
            body = "&".join(f"{name}={text}" for name in FIELDS).encode()
            yield RawRequest(
                route.method, example(route), "", [cookie, origin, ("content-type", "application/x-www-form-urlencoded")], body
            )


async def failures(site: Site, sent: Iterator[RawRequest]) -> tuple[int, list[str]]:
    count, failed = 0, []
    for one in sent:
        answer = await send_raw(site.app, one)
        count += 1
        if not 200 <= answer.status < 500:
            failed.append(
                f"{answer.status} {one.method} {one.path[:60]}?{one.query[:60]} {one.headers!s:.160} {one.body[:60]!r}"
            )
    return count, failed


def test_no_odd_text_in_any_part_of_a_request_is_an_error_of_the_server(here: Site) -> None:
    assert here.publish("pdf", "1.0.0").status_code == 201
    count, failed = here.call(failures, here, requests(here))
    assert (len(failed), failed[:20]) == (0, [])
    assert count > 4_000
    assert here.get("/skills").status_code == 200


@pytest.mark.parametrize("line", [
    'description: "Reads\\0 files."', 'license: "\\0"', 'metadata: {author: "\\0"}', 'metadata: {tags: "a\\0b"}',
    'metadata: {"\\0": "x"}',
    'description: "\\uD800 Reads files."', 'compatibility: "\\0"', 'allowed-tools: "\\0"',
    'metadata: {version: "1.0.0\\0"}', 'name: "a\\0b"',
])  # fmt: skip
def test_odd_text_in_the_frontmatter_is_not_an_error_of_the_server(here: Site, line: str) -> None:
    key = line.partition(":")[0]
    fields = {"name": "name: odd", "description": "description: Reads files. Use when asked."}
    text = "---\n" + "\n".join({**fields, key: line}.values()) + "\n---\nBody.\n"
    data = archive("odd", files={"SKILL.md": text})
    answer = here.post("/skills?visibility=public", token=here.admin, content=data)
    assert answer.status_code < 500, answer.text


def test_one_bad_key_does_not_fail_the_lookups_beside_it(postgres: Postgres, tmp_path: Path) -> None:
    async def together(site: Site) -> list[Any]:
        names = ["pdf", "a\0b", "unknown", "pdf", "x" * 70, "\ud800"]
        engine = site.registry.store.engine
        lookups = (engine.find_package(PACKAGE_COLUMNS, "skill", name) for name in names)
        return await asyncio.gather(*lookups, return_exceptions=True)

    with postgres.database() as url, site(tmp_path, db=url) as here:
        here.publish("pdf", "1.0.0")
        first, nul, unknown, again, long, half = here.call(together, here)
        assert "pdf" in first
        assert (again, unknown, long) == (first, None, None)
        assert (type(nul), type(half)) == (UsageError, UsageError)


@pytest.mark.parametrize("body", [b'{"reason":' * 20_000, b"[" * 100_000, json.dumps({"reason": "a\0"}).encode()])
def test_a_body_that_cannot_be_read_is_a_bad_request(tmp_path: Path, body: bytes) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        answer = here.post("/skills/pdf/report", content=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "usage")


def test_an_escaped_backslash_before_u0000_is_ordinary_text(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        body = msgspec.json.encode({"reason": "spam", "details": "the escape \\u0000"})
        assert here.post("/skills/pdf/report", content=body).status_code == 201


@pytest.mark.parametrize("name", ["authorization", "host"])
def test_a_header_that_must_be_unique_is_refused_if_it_is_sent_twice(tmp_path: Path, name: str) -> None:
    with site(tmp_path) as here:
        token = f"Bearer {here.admin}"
        values = {"authorization": (token, "Bearer x"), "host": ("registry.test", "other.test")}[name]
        request = RawRequest("GET", "/skills", "", [(name, value) for value in values])
        answer = here.call(send_raw, here.app, request)
        assert answer.status == 400
        assert name in json.loads(answer.body)["detail"].lower()


def test_a_path_with_a_nul_is_a_bad_request(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        assert here.get("/skills/" + quote("a\0")).status_code == 400
        assert here.get("/skills?q=a%00").status_code == 400


def test_names_that_do_not_exist_are_not_kept_in_memory(here: Site) -> None:
    async def ask() -> tuple[int, int]:
        for number in range(50):
            await send_raw(here.app, RawRequest("GET", f"/skills/warm-{number}"))
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for number in range(1_500):
                long = f"{number}-" + "a" * 20_000
                for name in (long, f"unknown-{number}"):
                    assert (await send_raw(here.app, RawRequest("GET", f"/skills/{name}"))).status == 404
            return before, tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    before, after = here.call(ask)
    assert after - before < 1_000_000
