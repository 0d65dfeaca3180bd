"""Files that are uploaded before their release: for one token, one release and one hour."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.archive import unpack
from registry.builders import Site, archive, site

TEXT = unpack(archive("pdf")).read("SKILL.md", limit=9_999)
DIGEST = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def ticket(here: Site, token: str, digest: str = DIGEST) -> Any:
    return here.post("/api/v1/skills/-/upload-url", token=token, json={"path": "SKILL.md", "size": 1, "sha256": digest})


def uploaded(here: Site, token: str) -> str:
    stored = here.post(ticket(here, token).json()["uploadUrl"], token=token, content=TEXT)
    assert stored.status_code == 200, stored.text
    return str(stored.json()["storageId"])


def release(here: Site, token: str, *files: tuple[str, str], version: str = "1.0.0") -> Any:
    rows = [{"path": path, "size": 1, "storageId": storage, "sha256": DIGEST} for path, storage in files]
    return here.post("/api/v1/skills", token=token, json={"slug": "pdf", "version": version, "files": rows})


def test_the_digest_of_a_private_archive_is_not_a_storage_id(here: Site) -> None:
    own, other = here.token("acme", "publish:acme"), here.token("evil", "publish:evil")
    here.publish("secret", "1.0.0", token=own, query="")
    digest = here.get("/skills/secret", token=own).json()["archive_digest"].removeprefix("sha256:")
    answer = release(here, other, ("SKILL.md", uploaded(here, other)), ("assets/stolen.zip", digest))
    assert answer.status_code == 404
    assert here.get("/skills/pdf", token=other).status_code == 404


def test_a_storage_id_belongs_to_the_token_that_uploaded_it(here: Site) -> None:
    own, other, second = (
        here.token("acme", "publish:acme"),
        here.token("evil", "publish:evil"),
        here.token("acme", "publish:acme"),
    )
    storage = uploaded(here, own)
    for token in (other, second):
        assert release(here, token, ("SKILL.md", storage)).status_code == 404
    address = ticket(here, own).json()["uploadUrl"]
    assert here.post(address, token=other, content=TEXT).status_code == 404
    assert release(here, own, ("SKILL.md", storage)).status_code == 200


def test_a_storage_id_is_good_for_one_release_and_one_hour(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    storage = uploaded(here, own)
    assert release(here, own, ("SKILL.md", storage), ("assets/again.md", storage)).status_code == 400
    assert release(here, own, ("SKILL.md", storage)).status_code == 200
    assert release(here, own, ("SKILL.md", storage), version="1.1.0").status_code == 404
    late, address = uploaded(here, own), ticket(here, own).json()["uploadUrl"]
    here.clock.move(seconds=3_600)
    assert release(here, own, ("SKILL.md", late), version="1.1.0").status_code == 404
    assert here.post(address, token=own, content=TEXT).status_code == 404


def test_a_ticket_without_its_file_is_not_a_storage_id(here: Site) -> None:
    own = here.token("acme", "publish:acme")
    opened = ticket(here, own).json()
    assert here.post(opened["uploadUrl"], token=own, content=b"other").status_code == 400
    assert release(here, own, ("SKILL.md", opened["uploadTicket"])).status_code == 404
    assert ticket(here, own, "x" * 64).status_code == 400
    assert ticket(here, here.token("acme", "read")).status_code == 403
