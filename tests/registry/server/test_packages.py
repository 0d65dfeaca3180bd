"""The API that every client knows, and what it says beyond that."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from metier.archive import ArchiveFormat, unpack
from registry.builders import Site, archive, site, tar_of


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def test_a_skill_has_the_six_fields_of_the_plain_api_first(here: Site) -> None:
    here.publish("code-review", "1.0.0", description="Comprehensive code review workflow", metadata={"author": "r9s-ai"})
    body = here.get("/skills/code-review").json()
    assert list(body)[:6] == ["name", "description", "version", "author", "downloads", "download_url"]
    assert {key: body[key] for key in list(body)[:6]} == {
        "name": "code-review",
        "description": "Comprehensive code review workflow",
        "version": "1.0.0",
        "author": "r9s-ai",
        "downloads": 0,
        "download_url": "http://registry.test/skills/code-review/1.0.0.zip",
    }


def test_the_list_holds_the_document_of_each_skill(here: Site) -> None:
    for name in ("one", "two"):
        here.publish(name, "1.0.0")
    listed = here.get("/skills?sort=name").json()
    assert [skill["name"] for skill in listed["skills"]] == ["one", "two"]
    assert listed["skills"][0] == here.get("/skills/one").json()
    assert "total" not in listed


def test_a_download_is_the_archive_that_its_digest_promises(here: Site) -> None:
    here.publish("pdf", "1.0.0", files={"scripts/go.py": "print(1)\n"})
    about = here.get("/skills/pdf").json()
    for path in ("/skills/pdf/download", "/skills/pdf/1.0.0.zip", "/skills/pdf/download?version=1.0.0"):
        answer = here.get(path)
        assert answer.status_code == 200
        assert "sha256:" + hashlib.sha256(answer.content).hexdigest() == about["archive_digest"]
        assert sorted(zipfile.ZipFile(io.BytesIO(answer.content)).namelist()) == ["SKILL.md", "scripts/go.py"]
        assert unpack(answer.content).read("scripts/go.py", limit=99) == b"print(1)\n"
    assert here.get("/skills/pdf/1.0.0.zip").headers["cache-control"] == "public, max-age=300, must-revalidate"
    assert here.get("/skills/pdf/download").headers["cache-control"] == "private, no-cache"


def test_publishing_needs_a_token(here: Site) -> None:
    refused = here.client.post("/skills", content=archive("pdf"))
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "unauthenticated"


def test_the_same_contents_again_are_a_no_op_however_they_are_packed(here: Site) -> None:
    assert here.publish("pdf", "1.0.0").status_code == 201
    again = here.publish("pdf", "1.0.0", to=ArchiveFormat.TAR_GZ)
    assert (again.status_code, again.json()["created"]) == (200, False)
    text = unpack(archive("pdf", "1.0.0")).read("SKILL.md", limit=10_000)
    wrapped = here.post("/skills", token=here.admin, content=tar_of({"pdf-main/SKILL.md": text}))
    assert (wrapped.status_code, wrapped.json()["created"]) == (200, False)


def test_other_contents_under_a_taken_version_are_a_conflict(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    refused = here.publish("pdf", "1.0.0", body="Other.\n")
    assert refused.status_code == 409
    assert "1.0.1" in refused.json()["hint"]


def test_a_skill_without_a_version_gets_the_next_patch(here: Site) -> None:
    versions = [here.publish("pdf", body=f"Take {n}.\n").json()["version"] for n in range(3)]
    assert versions == ["0.1.0", "0.1.1", "0.1.2"]
    assert here.publish("pdf", body="Take 1.\n").json()["version"] == "0.1.1"


def test_an_archive_may_be_a_file_of_a_form(here: Site) -> None:
    answer = here.post("/skills", token=here.admin, files={"file": ("pdf.zip", archive("pdf", "1.0.0"))})
    assert answer.status_code == 201


def test_a_version_shows_its_files_and_what_it_costs(here: Site) -> None:
    here.publish("pdf", "1.0.0", files={"scripts/go.py": "print(1)\n"})
    body = here.get("/skills/pdf/versions/1.0.0").json()
    assert [(row["path"], row["size"]) for row in body["details"]["files"]] == [
        ("SKILL.md", len(unpack(archive("pdf", "1.0.0")).read("SKILL.md", limit=9999))), ("scripts/go.py", 9),
    ]  # fmt: skip
    assert body["details"]["tokens_body"] > 0
    assert here.get("/skills/pdf/files/scripts/go.py").text == "print(1)\n"
    assert here.get("/skills/pdf/files/none.py").status_code == 404
    assert here.get("/skills/pdf/files/../../etc/passwd").status_code in (400, 404)


def test_a_file_is_never_shown_as_what_its_author_says(here: Site) -> None:
    here.publish("pdf", files={"assets/x.html": "<script>alert(1)</script>"})
    answer = here.get("/skills/pdf/files/assets/x.html")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_versions_are_found_by_number_tag_and_range(here: Site) -> None:
    for version in ("1.0.0", "1.2.0", "2.0.0"):
        here.publish("pdf", version, body=f"{version}\n")
    assert [row["version"] for row in here.get("/skills/pdf/versions").json()["versions"]] == ["2.0.0", "1.2.0", "1.0.0"]
    for asked, got in (("1.0.0", "1.0.0"), ("^1.0", "1.2.0"), ("latest", "2.0.0"), ("", "2.0.0")):
        assert f"pdf-{got}.zip" in here.get(f"/skills/pdf/download?version={asked}").headers["content-disposition"]
    assert here.get("/skills/pdf/download?version=3.0.0").status_code == 404
    assert here.get("/skills/pdf/download?version=nonsense").status_code == 404


def test_a_current_etag_is_answered_with_not_modified(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    for path in ("/skills/pdf", "/skills", "/skills/pdf/versions", "/skills/pdf/1.0.0.zip"):
        tag = here.get(path).headers["etag"]
        again = here.get(path, headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert here.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_head_answers_like_get_without_a_body(here: Site) -> None:
    here.publish("pdf", "1.0.0")
    for path in ("/skills/pdf", "/skills/pdf/download", "/healthz"):
        got, head = here.get(path), here.send("HEAD", path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == got.headers["content-length"]


def test_agents_live_beside_skills_in_the_same_store(here: Site) -> None:
    text = b'name = "reviewer"\ndescription = "Reviews."\nversion = "1.0.0"\nskills = ["code-review"]\n'
    answer = here.post("/agents?visibility=public", token=here.admin, content=tar_of({"agent.toml": text}))
    assert answer.status_code == 201, answer.text
    assert here.get("/agents/reviewer").json()["download_url"] == "http://registry.test/agents/reviewer/1.0.0.zip"
    assert here.get("/skills/reviewer").status_code == 404
    assert here.get("/agents/reviewer/versions/1.0.0").json()["details"]["uses"] == ["code-review"]


def test_errors_are_problem_documents(here: Site) -> None:
    for method, path, status in (("GET", "/nothing", 404), ("GET", "/skills/none", 404), ("DELETE", "/skills", 405),
                                 ("GET", "/skills?sort=wrong", 400), ("GET", "/skills?limit=0", 400),
                                 ("GET", "/skills?cursor=!!", 400)):  # fmt: skip
        answer = here.send(method, path)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail", "code"} <= answer.json().keys()
    assert here.send("DELETE", "/skills").headers["allow"] == "GET, HEAD, POST"
