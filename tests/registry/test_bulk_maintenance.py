"""Every release is scanned or indexed again through the port for bulk work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from metier.bulk import LocalMap, ResultJournal
from metier.registry import (
    ChangedVerdict,
    RegistryLocation,
    ReleaseScan,
    Rescan,
    ScanStatus,
    reindex_packages,
    rescan_releases,
)
from metier.spec import Files, Problem, Severity
from registry.builders import site

ALL = "registry.test_bulk_maintenance:block_words"
NONE = "registry.test_bulk_maintenance:pass_all"


def block_words(files: Files, *, name: str) -> ReleaseScan:
    """A scanner that has learnt a new word since the releases were published."""
    text = files.read("SKILL.md", limit=10_000).decode()
    problem = Problem(code="SK999", severity=Severity.ERROR, message=f"{name} says it", file="SKILL.md", hint="do not")
    return ReleaseScan(ScanStatus.BLOCK, (problem,)) if "forbidden" in text else ReleaseScan(ScanStatus.PASS)


def pass_all(files: Files, *, name: str) -> ReleaseScan:
    return ReleaseScan(ScanStatus.PASS)


class Here:
    """A map that works in this process, and counts."""

    done = 0
    most = 0

    def run(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        self.most = max(self.most, len(items))
        for number, item in enumerate(items):
            self.done += 1
            yield number, function(item)


@pytest.fixture
def admin(tmp_path: Path) -> str:
    """The token of a registry with three releases."""
    with site(tmp_path, scanner=pass_all) as here:
        here.publish("pdf", "1.0.0")
        here.publish("pdf", "1.1.0", body="forbidden\n")
        here.publish("csv", "1.0.0", body="Reads commas with kubernetes.\n")
        return here.admin


@pytest.fixture
def location(tmp_path: Path, admin: str) -> RegistryLocation:
    return RegistryLocation.in_folder(str(tmp_path))


def rescan(location: RegistryLocation, **more: Any) -> Any:
    return asyncio.run(rescan_releases(location, **{"on": Here(), "scanner": ALL, **more}))


def test_a_release_that_new_rules_block_is_quarantined_and_the_others_stay(
    location: RegistryLocation, tmp_path: Path, admin: str
) -> None:
    changed = (ChangedVerdict("pdf@1.1.0", "pass", "block"),)
    steps: list[int] = []
    tried = rescan(location, dry_run=True, advance=steps.append)
    assert (tried.counts, tried.changed, tried.failed, sum(steps)) == ({"pass": 2, "block": 1}, changed, (), 3)
    with site(tmp_path) as here:
        assert here.get("/skills/pdf").json()["version"] == "1.1.0"
    assert rescan(location).changed == changed
    with site(tmp_path) as here:
        assert here.get("/skills/pdf").json()["version"] == "1.0.0"
        refused = here.get("/skills/pdf/versions/1.1.0")
        assert (refused.status_code, "the scan blocks it (SK999)" in refused.text) == (403, True)
        events = [event.action for _, event in here.call(here.registry.store.events)]
        assert events[:3] == ["rescan-all", "quarantine-version", "scan"]
        assert here.send("DELETE", "/skills/pdf/versions/1.1.0/quarantine", token=admin).status_code == 200
    assert rescan(location).changed == ()
    with site(tmp_path) as here:
        assert here.get("/skills/pdf").json()["version"] == "1.1.0", "an administrator has put it online"
    assert rescan(location, scanner=NONE).changed == (ChangedVerdict("pdf@1.1.0", "block", "pass"),)


def test_an_archive_that_cannot_be_read_does_not_hide_the_others(location: RegistryLocation, tmp_path: Path) -> None:
    with site(tmp_path) as here:
        archive = here.call(here.registry.store.find_package, "skill", "csv").archive
    [file] = [file for file in (tmp_path / "blobs").rglob("*") if file.name.startswith(archive[:40])]
    file.write_bytes(b"damaged")
    done = rescan(location)
    assert (done.counts, [name for name, _ in done.failed]) == ({"pass": 1, "block": 1}, ["csv@1.0.0"])
    indexed = asyncio.run(reindex_packages(location, on=Here()))
    assert (indexed.indexed, [name for name, _ in indexed.failed]) == (1, ["csv@1.0.0"])


def test_large_archives_are_read_a_few_at_a_time(location: RegistryLocation) -> None:
    together, apart = Here(), Here()
    assert rescan(location, on=together, dry_run=True) == rescan(location, on=apart, dry_run=True, part_bytes=1)
    assert (together.most, apart.most, apart.done) == (3, 1, 3)
    few = Here()
    assert asyncio.run(reindex_packages(location, on=few, part_bytes=1)).indexed == 2
    assert few.most == 1


def test_an_interrupted_rescan_is_resumed(location: RegistryLocation, tmp_path: Path) -> None:
    on = Here()
    for _ in range(2):
        with ResultJournal(tmp_path / "journal", Rescan) as journal:
            assert rescan(location, on=on, journal=journal, dry_run=True).counts == {"pass": 2, "block": 1}
    assert on.done == 3


def test_the_index_is_written_again_by_processes(location: RegistryLocation, tmp_path: Path) -> None:
    with site(tmp_path) as here:
        for package in here.call(here.registry.store.popular, "skill", at_least=0, limit=9):
            found = here.call(here.registry.store.find_package, "skill", package)
            here.call(here.registry.store.index_body, found.id, found.version, "")
        assert here.get("/skills?q=kubernetes").json()["skills"] == []
    assert asyncio.run(reindex_packages(location, on=LocalMap(2))).indexed == 2
    with site(tmp_path) as here:
        assert [row["name"] for row in here.get("/skills?q=kubernetes").json()["skills"]] == ["csv"]
