"""Lists of advisories of registries: pinned at first use, verified, never older than before."""

from __future__ import annotations

from pathlib import Path

import pytest

from metier.errors import RefusedError, UnavailableError
from metier.registry import new_signing_key
from metier.registry.advisory_list import AdvisoryList, sign_list
from metier.registry.client import AdvisoryLists, RegistryClient
from metier.registry.wire import AdvisoryRow

PRIVATE, OTHER = new_signing_key()[0], new_signing_key()[0]
URL = "https://skills.example.com"


class FakeRegistry(RegistryClient):
    """Serves what a test says."""

    served: bytes = b""
    requests: int = 0

    def advisories(self, *, patience: float, limit: int) -> bytes:
        self.requests += 1
        if not self.served:
            raise UnavailableError("no network", hint="check the network")
        return self.served


def signed(number: int, *names: str, private: str = PRIVATE, dated: str = "2026-01-01") -> bytes:
    rows = [AdvisoryRow(id=f"ACME-{place}", names=[name]) for place, name in enumerate(names)]
    return sign_list(AdvisoryList(number=number, dated=dated, advisories=rows), private)


class Here:
    def __init__(self, folder: Path) -> None:
        self.now = 1_767_225_600.0  # 2026-01-01
        self.lists = AdvisoryLists(str(folder), lambda: self.now)
        self.registry = FakeRegistry(url=URL)

    def read(self, served: bytes | None = None, *, hours: float = 2) -> tuple[list[str], str]:
        self.now += hours * 3600
        if served is not None:
            self.registry.served = served
        known = self.lists.read(self.registry)
        return [name for one in known.advisories for name in one.names], known.note


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path / "advisories")


def test_a_list_is_fetched_once_an_hour_and_names_its_registry(here: Here) -> None:
    assert here.read(signed(1, "bad")) == (["bad"], "")
    assert here.read(signed(2, "bad", "worse"), hours=0.5) == (["bad"], "")
    assert here.read(hours=1) == (["bad", "worse"], "")
    assert here.registry.requests == 2
    assert {one.source for one in here.lists.read(here.registry).advisories} == {"skills.example.com"}


def test_an_older_list_is_refused_and_the_newer_one_counts_on(here: Here) -> None:
    here.read(signed(7, "bad"))
    names, note = here.read(signed(6))
    assert names == ["bad"]
    assert "older list of advisories than before (6, not 7)" in note


def test_another_key_is_refused_until_it_is_trusted(here: Here) -> None:
    here.read(signed(7, "bad"))
    names, note = here.read(signed(8, private=OTHER))
    assert names == ["bad"]
    assert "signs its advisories with the key" in note
    with pytest.raises(RefusedError):
        here.lists.fetch(here.registry)
    here.lists.fetch(here.registry, trust=True)
    assert here.read(signed(9, "new", private=OTHER)) == (["new"], "")


@pytest.mark.parametrize("served", [b"{}", b"[" * 50_000, b"\xff", signed(9).replace(b'"sig":"', b'"sig":"AA')])
def test_what_the_key_has_not_signed_changes_nothing(here: Here, served: bytes) -> None:
    here.read(signed(7, "bad"))
    names, note = here.read(served)
    assert names == ["bad"]
    assert "that its key has not signed" in note


def test_without_a_network_the_last_list_counts_and_its_age_is_named(here: Here) -> None:
    here.read(signed(7, "bad"))
    names, note = here.read(b"")
    assert (names, note) == (["bad"], f"the advisories of {URL} were not updated: no network")
    here.registry.offline = True
    assert here.read(hours=24 * 20) == (["bad"], f"the advisories of {URL} are from 2026-01-01")
    assert here.registry.requests == 2


def test_a_damaged_file_keeps_nothing_and_breaks_nothing(here: Here, tmp_path: Path) -> None:
    here.read(signed(7, "bad"))
    for file in (tmp_path / "advisories").iterdir():
        file.write_bytes(file.read_bytes()[:-20])
    assert here.read(signed(8, "new")) == (["new"], "")
