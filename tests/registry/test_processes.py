"""Servers and maintenance commands use one registry at once, as separate processes, and some of them are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import pytest

from guards import eventually
from metier.registry import RegistryLocation
from registry.process_checks import Publishers, command, deleted_files, problems_of_backup, problems_of_registry
from registry.server.test_faults import workers_of
from registry.server_process import serve


@pytest.fixture(params=["embedded", "scaled"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RegistryLocation]:
    """SQLite and files, then PostgreSQL and an object store."""
    if request.param == "embedded":
        yield RegistryLocation.in_folder(str(tmp_path / "home/registry"))
        return
    postgres, objects = request.getfixturevalue("postgres"), request.getfixturevalue("object_store")
    with postgres.database() as url:
        yield RegistryLocation(url, objects.url(f"metier/{token_hex(4)}"))


def test_commands_beside_a_server_cost_no_acknowledged_publish(tmp_path: Path, location: RegistryLocation) -> None:
    home = tmp_path / "home"
    home.mkdir()
    addresses = {"METIER_DB": location.db, "METIER_BLOBS": location.blobs}
    copy = RegistryLocation.in_folder(str(tmp_path / "copy"))
    with serve(home, **addresses) as server, Publishers(server.url, server.token) as publishers:
        eventually(lambda: len(publishers.acknowledged) > 5, "the first publishes")
        for words in (
            ["stats"], ["token", "create", "ann", "--scope", "read"], ["backup", str(tmp_path / "backup")], ["gc"],
            ["migrate", "--to", copy.db, copy.blobs], ["backup", str(tmp_path / "backup")],
        ):  # fmt: skip
            ended = command(home, *words, environment=addresses)
            _, err = ended.communicate(timeout=120)
            assert ended.returncode == 0, (words, err)
            assert deleted_files(server.process.pid) == [], words
        killed = command(home, "backup", str(tmp_path / "killed"), environment=addresses)
        before = len(publishers.acknowledged)
        eventually(lambda: len(publishers.acknowledged) > before + 5, "publishes beside a backup")
        killed.kill()
        killed.communicate()
        server.process.send_signal(signal.SIGKILL)
    assert len(publishers.acknowledged) > 20
    assert problems_of_registry(location, publishers.acknowledged) == []
    assert problems_of_registry(copy, {}) == []
    assert problems_of_backup(tmp_path / "backup", tmp_path / "restored") == []
    assert (tmp_path / "killed/registry.sqlite").exists() == (killed.returncode == 0)
    again = command(home, "backup", str(tmp_path / "killed"), environment=addresses)
    again.communicate(timeout=120)
    assert problems_of_backup(tmp_path / "killed", tmp_path / "restored-2") == []


def test_workers_that_end_one_after_the_other_leave_the_journals_to_the_others(tmp_path: Path) -> None:
    location = RegistryLocation.in_folder(str(tmp_path / "registry"))
    with serve(tmp_path, "--workers", "3") as server, Publishers(server.url, server.token) as publishers:
        for _ in range(3):
            eventually(lambda: len(workers_of(server.process)) == 3, "three workers")
            before = len(publishers.acknowledged)
            eventually(lambda: len(publishers.acknowledged) > before + 4, "publishes between two ends")  # noqa: B023
            victim = workers_of(server.process)[0]
            os.kill(victim, signal.SIGTERM)
            eventually(lambda: victim not in workers_of(server.process), "the end of a worker")  # noqa: B023
            assert [deleted_files(worker) for worker in workers_of(server.process)[:2]] == [[], []]
    assert problems_of_registry(location, publishers.acknowledged) == []


def test_a_second_server_on_the_same_database_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        second = command(tmp_path, "serve", "--port", "0")
        try:
            out, err = second.communicate(timeout=60)
        finally:
            second.kill()
        assert (second.returncode, out) == (6, "")
        assert f"process {server.process.pid} already serves the registry in {tmp_path}/registry" in err
        assert "--db" in err
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with serve(tmp_path) as third:
        assert replace(third, token=server.token).ask("GET", "/skills")["skills"] == []


def test_servers_that_share_postgresql_run_beside_each_other(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with (
        request.getfixturevalue("postgres").database() as url,
        serve(tmp_path, METIER_DB=url) as first,
        serve(tmp_path, METIER_DB=url) as second,
    ):
        assert first.ask("GET", "/skills") == replace(second, token=first.token).ask("GET", "/skills")
