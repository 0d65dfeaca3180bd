"""Bulk work: order, failures, workers that die, and a journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import write_skill
from bulk import tasks
from bulk.ray_cluster import RayCluster
from cli.shell import METIER
from guards import eventually
from metier.bulk import BulkMap, ItemFailure, LocalMap, ResultJournal, map_items, open_map
from metier.errors import ConfigError, ConflictError, UsageError

_LONG_BODY = "Run `sort notes.txt` and read what it prints.\n\n```python\nprint(sorted(open('notes.txt')))\n```\n\n" * 500
_NO_RAY = "ray is not installed: uv sync --extra ray"


class _Suite:
    @pytest.fixture
    def on(self) -> Iterator[BulkMap]:
        raise NotImplementedError

    def test_results_are_in_the_order_of_the_items_with_progress(self, on: BulkMap) -> None:
        steps: list[int] = []
        assert map_items(tasks.square, range(20), on=on, advance=steps.append) == [number * number for number in range(20)]
        assert sum(steps) == 20
        assert map_items(tasks.square, [], on=on) == []

    def test_an_item_that_raises_is_a_failure_in_its_place(self, on: BulkMap) -> None:
        *fine, three, four, last = map_items(tasks.refuse_three, range(6), on=on)
        assert (fine, last) == ([0, 1, 2], 5)
        assert three == ItemFailure("three is refused; use another number")
        assert isinstance(four, ItemFailure)
        assert "ZeroDivisionError" in four.reason

    def test_an_item_whose_worker_dies_is_tried_again_and_in_the_end_reported(self, on: BulkMap, tmp_path: Path) -> None:
        assert map_items(tasks.die_once, [str(tmp_path / name) for name in "abc"], on=on) == ["done"] * 3
        zero, one, two = map_items(tasks.die, range(3), on=on)
        assert (zero, two) == (0, 2)
        assert isinstance(one, ItemFailure)
        assert "its worker ended" in one.reason

    def test_results_so_far_are_kept_and_not_computed_again(self, on: BulkMap, tmp_path: Path) -> None:
        file = tmp_path / "journal.jsonl"
        with ResultJournal(file, int) as journal:
            assert map_items(tasks.die, range(3), on=on, journal=journal)[::2] == [0, 2]
        with open(file, "ab") as stream:
            stream.write(b'{"key": "half wri')
        with ResultJournal(file, int) as journal:
            assert len(journal) == 2
            steps: list[int] = []
            map_items(tasks.die, range(4), on=on, journal=journal, advance=steps.append)
            assert steps[0] == 2
            assert len(journal) == 3
        assert len(file.read_bytes().splitlines()) == 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    pytest.importorskip("ray", reason=_NO_RAY)
    with RayCluster(tmp_path_factory.mktemp("ray")) as cluster:
        yield cluster


class TestLocalMap(_Suite):
    @pytest.fixture
    def on(self) -> Iterator[BulkMap]:
        yield LocalMap(2)


@pytest.mark.skipif(not os.environ.get("METIER_FULL"), reason="long runs take METIER_FULL=1")
class TestRayMap(_Suite):
    @pytest.fixture
    def on(self, cluster: RayCluster) -> Iterator[BulkMap]:
        yield open_map(cluster.address)

    def test_a_node_that_is_killed_in_the_middle_loses_nothing(self, cluster: RayCluster, on: BulkMap) -> None:
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            if done == 20:
                cluster.kill_second_node()

        found = map_items(tasks.slow_square, range(150), on=on, advance=advance)
        assert found == [number * number for number in range(150)]

    def test_a_scan_survives_a_node_and_its_own_end_and_names_a_lost_cluster(self, cluster: RayCluster, tmp_path: Path) -> None:
        cluster.start_second_node()
        for number in range(40):
            write_skill(tmp_path / "skills", f"skill-{number}", body=_LONG_BODY)
        journal = tmp_path / "scan.jsonl"
        words = [METIER, "skill", "scan", "skills", "--json", "--on", cluster.client_address, "--journal", str(journal)]
        environment = {**cluster.environment, "METIER_HOME": str(tmp_path / "home")}

        def rows() -> int:
            return journal.read_bytes().count(b"\n") if journal.exists() else 0

        with subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=tmp_path, env=environment) as scan:
            eventually(lambda: rows() >= 5, "the scan has begun")
            cluster.kill_second_node()
            eventually(lambda: rows() >= 10, "it goes on without the node")
            scan.kill()
        assert 10 <= rows() < 40
        ran = subprocess.run(words, capture_output=True, check=True, cwd=tmp_path, env=environment)
        assert (json.loads(ran.stdout)["data"]["pass"], rows()) == (40, 40)
        journal.unlink()
        with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=tmp_path, env=environment) as scan:
            eventually(lambda: rows() >= 5, "the scan has begun")
            cluster.kill_head()
            answer = json.loads(scan.communicate()[0])
        assert (scan.returncode, answer["error"]["code"]) == (4, "unavailable")


def test_a_journal_belongs_to_one_process_and_one_function(tmp_path: Path) -> None:
    with ResultJournal(tmp_path / "j", int) as journal, ResultJournal(tmp_path / "k", int, version="2") as newer:
        with pytest.raises(ConflictError, match="in use by another process"):
            ResultJournal(tmp_path / "j", int)
        assert journal.key(tasks.square, 3) != journal.key(tasks.die, 3)
        assert journal.key(tasks.square, 3) != newer.key(tasks.square, 3)


def test_a_file_that_is_no_journal_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear Ada,\nhello")
    with pytest.raises(ConfigError, match="not a journal") as found:
        ResultJournal(file, int)
    assert found.value.line == 1
    assert file.read_text() == "Dear Ada,\nhello"


@pytest.mark.parametrize("address", ["", "ray://host", "http://host:1", "host"])
def test_what_is_no_address_of_a_cluster_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a Ray cluster"):
        open_map(address)


def test_ctrl_c_ends_the_workers() -> None:
    code = """
import _thread
from bulk import tasks
from metier.bulk import LocalMap, map_items
try:
    map_items(tasks.slow_square, range(10_000), on=LocalMap(2), advance=lambda more: more and _thread.interrupt_main())
except KeyboardInterrupt:
    import os
    print(os.popen(f"pgrep -P {os.getpid()} -f [w]orker_process").read().split(), flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[]\n", run.stderr
