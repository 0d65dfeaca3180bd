"""Uploads and forms are bounded in size, number and cost; nobody waits for the upload of another token."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from metier.registry.domain.registry import WorkLimits
from registry.asgi import Answer, RawRequest, send_raw
from registry.builders import Site, archive, site
from registry.live import live

ORIGIN = {"origin": "http://registry.test"}
FORM = b'--b\r\nContent-Disposition: form-data; name="token"; filename="a"\r\n\r\n'


@pytest.mark.parametrize("path", ["/login", "/skill/pdf/report", "/account/tokens", "/admin/quarantine"])
@pytest.mark.parametrize(
    ("kind", "start"), [("multipart/form-data; boundary=b", FORM), ("application/x-www-form-urlencoded", b"token=")]
)
def test_a_form_over_its_limit_is_refused_whatever_its_kind(tmp_path: Path, path: str, kind: str, start: bytes) -> None:
    with site(tmp_path) as here:
        here.publish("pdf", "1.0.0")
        taken: list[int] = []

        def chunks() -> Any:
            yield start
            for _ in range(500):
                taken.append(1)
                yield b"a" * 8_192

        answer = here.post(path, content=chunks(), headers={**ORIGIN, "content-type": kind}, token=here.admin)
        assert answer.status_code == 413


def test_a_form_over_its_limit_is_not_read_to_its_end(tmp_path: Path) -> None:
    head = b"POST /login HTTP/1.1\r\nhost: a\r\norigin: http://a\r\ncontent-type: multipart/form-data; boundary=b\r\n"
    with live(tmp_path) as server:
        with server.connect(head + b"transfer-encoding: chunked\r\n\r\n") as connection:
            sent = 0
            try:
                connection.sendall(b"%x\r\n%s\r\n" % (len(FORM), FORM))
                for _ in range(1_000):
                    connection.sendall(b"10000\r\n" + bytes(65_536) + b"\r\n")
                    sent += 65_536
            except ConnectionError:
                pass
        assert sent < 48 * 1024 * 1024


def test_a_form_has_few_fields(tmp_path: Path) -> None:
    with site(tmp_path) as here:
        answer = here.post("/login", content="&".join(f"a{n}=1" for n in range(50)), headers={
            **ORIGIN, "content-type": "application/x-www-form-urlencoded",
        })  # fmt: skip
        assert answer.status_code == 400


@pytest.mark.parametrize("query", ["visibility=public", "dry_run=1"])
def test_an_upload_whose_checks_cost_too_much_is_refused_and_the_next_one_is_not(tmp_path: Path, query: str) -> None:
    folders = {"cheap": WorkLimits(), "costly": WorkLimits(check_seconds=0.0001)}
    answers = {}
    for name, limits in folders.items():
        with site(tmp_path / name, work=limits) as here:
            text = "".join(f"Read the file of day {n} and count its words.\n" for n in range(20_000))
            answers[name] = here.publish("pdf", "1.0.0", query=query, files={"a.md": text})
            assert here.get("/skills").status_code == 200
    assert answers["cheap"].status_code in (200, 201)
    assert (answers["costly"].status_code, answers["costly"].json()["code"]) == (422, "archive-cost")


def upload(token: str, name: str) -> RawRequest:
    return RawRequest("POST", "/skills", "visibility=public", [("authorization", f"Bearer {token}")], archive(name, "1.0.0"))


def send_together(here: Site, requests: list[RawRequest]) -> list[Answer]:
    async def send() -> list[Answer]:
        return await asyncio.gather(*(send_raw(here.app, request) for request in requests))

    answers: list[Answer] = here.call(send)
    return answers


def test_a_token_with_many_uploads_at_once_is_told_to_wait_and_others_are_not(tmp_path: Path) -> None:
    with site(tmp_path, work=WorkLimits(uploads_per_token=3)) as here:
        greedy, other = here.token("acme", "publish:acme"), here.token("lone", "publish:lone")
        answers = send_together(here, [*(upload(greedy, f"skill-{n}") for n in range(6)), upload(other, "mine")])
        assert [answer.status for answer in answers] == [201] * 3 + [429] * 3 + [201]
        refused = answers[4]
        assert (json.loads(refused.body)["code"], int(refused.headers["retry-after"]) > 0) == ("too-many-uploads", True)


def test_a_registry_with_too_many_uploads_answers_503(tmp_path: Path) -> None:
    with site(tmp_path, work=WorkLimits(uploads=2)) as here:
        tokens = [here.token(f"team-{n}", f"publish:team-{n}") for n in range(4)]
        answers = send_together(here, [upload(token, f"skill-{n}") for n, token in enumerate(tokens)])
        assert [answer.status for answer in answers] == [201, 201, 503, 503]
        assert int(answers[3].headers["retry-after"]) > 0


@pytest.mark.parametrize("declared", [9_000_000, 1])
def test_a_release_of_large_files_is_refused_by_the_sum(tmp_path: Path, declared: int) -> None:
    with site(tmp_path) as here:
        data = bytes(9_000_000)
        name = hashlib.sha256(data).hexdigest()
        files = []
        for number in range(7):
            place = here.post("/api/v1/skills/-/upload-url", token=here.admin, json={"path": "a", "size": 1, "sha256": name})
            stored = here.post(place.json()["uploadUrl"], token=here.admin, content=data).json()["storageId"]
            files.append({"path": f"{number}.bin", "size": declared, "storageId": stored, "sha256": name})
        answer = here.post("/api/v1/skills", token=here.admin, json={"slug": "big", "version": "1.0.0", "files": files})
        assert answer.status_code == 413
        assert "in total" in answer.text
