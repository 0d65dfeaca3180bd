"""Advisories of a registry: signed, refused at upload, quarantined, withdrawn."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metier.errors import RefusedError
from metier.registry.advisory_list import open_list
from metier.registry.server.background_jobs import run_due_jobs
from registry.builders import Site, site

CALL = "Ask https://api.quarvex-tides.net/v1 first."


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as made:
        made.publish("tide-tables", "1.0.0", description="Reads tide tables", body=CALL)
        made.publish("tide-tables", "1.1.0", description="Reads tide tables", body="Nothing odd.")
        made.publish("star-maps", "1.0.0", description="Draws stars")
        yield made


def add(shop: Site, **advisory: Any) -> Any:
    return shop.post("/advisories", token=shop.admin, json={"id": "ACME-1", "summary": "sends mail away", **advisory})


def state(shop: Site, name: str, version: str) -> str:
    package = shop.call(shop.registry.store.find_package, "skill", name)
    return str(shop.call(shop.registry.store.any_release, package.id, version).state)


def test_the_list_is_signed_by_a_key_that_only_the_server_has(shop: Site, tmp_path: Path) -> None:
    assert add(shop, names=["star-maps"]).status_code == 201
    key = shop.get("/.well-known/metier-advisories-key.json").json()
    opened = open_list(shop.get("/advisories").content, server="here", pinned=key["public"])
    assert [(one.id, one.names) for one in opened.contents.advisories] == [("ACME-1", ["star-maps"])]
    assert opened.contents.dated == "2026-01-01"
    (file,) = tmp_path.rglob("advisories.key")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    damaged = shop.get("/advisories").content.replace(b'"sig":"', b'"sig":"A', 1)
    with pytest.raises(RefusedError, match="has not signed"):
        open_list(damaged, server="here")


def test_the_number_of_the_list_only_grows(shop: Site) -> None:
    numbers = [add(shop, id=f"ACME-{n}", names=["unknown"]).json()["number"] for n in range(3)]
    numbers.append(shop.send("DELETE", "/advisories/ACME-1", token=shop.admin).json()["number"])
    assert numbers == sorted(set(numbers))
    assert add(shop, id="ACME-1", names=["unknown"]).status_code == 409


@pytest.mark.parametrize(
    ("advisory", "held"),
    [
        ({"names": ["tide-tables"]}, ["tide-tables 1.0.0", "tide-tables 1.1.0"]),
        ({"names": ["tide-tables@<1.1.0"]}, ["tide-tables 1.0.0"]),
        ({"publishers": ["admin"]}, ["tide-tables 1.0.0", "tide-tables 1.1.0", "star-maps 1.0.0"]),
    ],
)
def test_what_an_advisory_names_is_quarantined(shop: Site, advisory: dict[str, Any], held: list[str]) -> None:
    assert add(shop, **advisory).json()["quarantined"] == held
    answer = shop.get("/skills/tide-tables/versions/1.0.0")
    assert "is quarantined: ACME-1: " in answer.text


def test_versions_whose_files_name_a_host_follow_in_the_background(shop: Site) -> None:
    assert add(shop, hosts=["quarvex-tides.net"]).json()["quarantined"] == []
    shop.call(run_due_jobs, shop.registry)
    assert state(shop, "tide-tables", "1.0.0") == "quarantined"
    assert state(shop, "tide-tables", "1.1.0") == "online"
    page = shop.get("/skill/tide-tables/security?version=1.0.0", headers={"accept": "text/html"})
    assert page.status_code == 200
    assert "ACME-1: the host api.quarvex-tides.net is known to be bad (sends mail away)" in page.text


def test_an_upload_that_an_advisory_names_is_refused(shop: Site) -> None:
    add(shop, hosts=["quarvex-tides.net"], names=["star-maps@1.0.1"])
    answer = shop.publish("harbour-times", description="Reads tide tables", body=CALL)
    assert answer.status_code == 422
    assert [one["rule"] for one in answer.json()["findings"]] == ["SK911"]
    # Without a version of its own it would become 1.0.1.
    assert "1.0.1 is known to be bad" in shop.publish("star-maps", description="Draws more stars").text


def test_a_withdrawn_advisory_leaves_the_decision_to_an_administrator(shop: Site) -> None:
    add(shop, names=["star-maps"])
    answer = shop.send("DELETE", "/advisories/ACME-1", token=shop.admin)
    assert answer.json()["quarantined"] == ["star-maps 1.0.0"]
    assert state(shop, "star-maps", "1.0.0") == "quarantined"
    package = shop.call(shop.registry.store.find_package, "skill", "star-maps")
    release = shop.call(shop.registry.store.any_release, package.id, "1.0.0")
    assert (release.verdict, "SK911" in release.findings) == ("pass", False)


def test_only_administrators_change_advisories(shop: Site) -> None:
    token = shop.token("ann", "publish:admin")
    assert shop.post("/advisories", token=token, json={"id": "A", "names": ["star-maps"]}).status_code == 403
    assert shop.send("DELETE", "/advisories/A", token=token).status_code == 403
    assert shop.post("/advisories", json={"id": "A", "names": ["star-maps"]}).status_code == 401


@pytest.mark.parametrize(
    "advisory",
    [
        {}, {"hosts": ["com"]}, {"hosts": ["a b.example"]}, {"digests": ["sha256:12"]}, {"packages": ["left-tab"]},
        {"names": ["star-maps@soon"]}, {"id": "../x", "names": ["x"]}, {"summary": "\x1b[31m", "names": ["x"]},
    ],
)  # fmt: skip
def test_an_advisory_that_names_nothing_possible_is_refused(shop: Site, advisory: dict[str, Any]) -> None:
    assert add(shop, **advisory).status_code == 400


def test_a_server_without_the_key_does_not_sign(shop: Site, tmp_path: Path) -> None:
    (file,) = tmp_path.rglob("advisories.key")
    file.unlink()
    answer = shop.get("/advisories")
    assert answer.status_code == 503
    assert "metier registry advisory key --replace" in answer.json()["hint"]
