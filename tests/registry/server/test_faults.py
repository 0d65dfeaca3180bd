"""Workers that die, databases that restart, disks that fill up: nothing is lost, and no manual restart is needed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from guards import eventually
from registry.builders import Site, archive, site
from registry.server_process import ServerProcess, serve
from registry.servers import OwnPostgres, Postgres


def ask(url: str, *, token: str = "", data: bytes | None = None) -> tuple[int, bytes]:
    """Status and body; 0 if there was no answer."""
    head = {"authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, head), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return 0, b""


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat[1]) == process.pid and b"resource_tracker" not in command:
                found.append(int(folder.name))
    return found


class Publishers:
    """Several who publish without a pause, and remember every answer."""

    def __init__(self, server: ServerProcess, count: int) -> None:
        self.server = server
        self.answers: dict[str, int] = {}
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._publish, args=(number,)) for number in range(count)]

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)

    def _publish(self, number: int) -> None:
        turn = 0
        while not self.stopped.is_set():
            name = f"skill-{number}-{turn}"
            self.answers[name], _ = ask(
                f"{self.server.url}/skills?visibility=public", token=self.server.token, data=archive(name, "1.0.0")
            )
            turn += 1

    @property
    def good(self) -> set[str]:
        return {name for name, status in self.answers.items() if status in (200, 201)}


def listed(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = json.loads(ask(f"{url}/skills?sort=name&limit=100&cursor={cursor}")[1])
        found += page["skills"]
        if not page["next"]:
            return found
        cursor = page["next"]


def test_a_worker_that_is_killed_while_it_publishes_loses_nothing(tmp_path: Path, postgres: Postgres) -> None:
    with postgres.database() as url, serve(tmp_path, "--workers", "4", METIER_DB=url) as server:
        eventually(lambda: len(workers_of(server.process)) == 4, "four workers")
        victims = workers_of(server.process)
        with Publishers(server, 6) as publishers:
            for victim in victims[:2]:
                before = len(publishers.good)
                while len(publishers.good) < before + 8:
                    time.sleep(0.02)
                os.kill(victim, signal.SIGKILL)
            time.sleep(1)
        skills = listed(server.url)
        names = [skill["name"] for skill in skills]
        assert publishers.good <= set(names)
        assert len(names) == len(set(names))
        assert len(publishers.good) > 16
        for skill in skills:
            status, data = ask(skill["download_url"])
            assert (status, f"sha256:{hashlib.sha256(data).hexdigest()}") == (200, skill["archive_digest"])
            assert ask(f"{server.url}/index/{skill['name']}.json")[1].count(b"\n") == 1
            assert json.loads(ask(f"{server.url}/skills?q={skill['name']}")[1])["skills"][0]["name"] == skill["name"]


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    server = OwnPostgres()
    server.start()
    yield server
    server.remove()


def refused_for_now(answer: Any) -> bool:
    return answer.status_code == 503 and int(answer.headers["retry-after"]) > 0 and answer.json()["code"] == "unavailable"


def test_a_lost_database_is_a_503_and_reconnects_by_itself(tmp_path: Path, own_postgres: OwnPostgres) -> None:
    with site(tmp_path, db=own_postgres.url) as here:
        here.publish("pdf", "1.0.0")
        own_postgres.stop()
        for _ in range(2):
            assert refused_for_now(here.get("/skills/pdf"))
            assert refused_for_now(here.get("/skills?q=pdf"))
            assert refused_for_now(here.publish("other", "1.0.0"))
            assert refused_for_now(here.get("/readyz"))
        assert here.get("/healthz").status_code == 200
        own_postgres.start()
        eventually(lambda: here.get("/readyz").status_code == 200, "the server answers again")
        assert here.get("/skills/pdf").json()["version"] == "1.0.0"
        eventually(lambda: here.publish("other", "1.0.0").status_code in (200, 201), "the server answers again")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Three megabytes, which a test may fill or make read-only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk to fill it")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def check_that_it_recovers(here: Site, break_it: Any, mend_it: Any) -> None:
    here.publish("before", "1.0.0")
    break_it()
    for name in ("first", "second"):
        assert refused_for_now(here.publish(name, "1.0.0")), name
    assert here.get("/skills/before").status_code == 200
    assert here.get("/skills/before/1.0.0.zip").status_code == 200
    assert here.get("/skills/first").status_code == 404
    mend_it()
    assert here.publish("first", "1.0.0").status_code == 201
    assert here.get("/skills?q=first").json()["skills"][0]["name"] == "first"


@pytest.mark.parametrize("full", ["rows", "archives"])
def test_a_full_disk_is_a_503_until_space_is_free(small_disk: Path, tmp_path: Path, full: str) -> None:
    places: dict[str, dict[str, Any]] = {
        "rows": {"db": f"sqlite://{small_disk}/r.sqlite"}, "archives": {"blobs": f"file://{small_disk}/blobs"},
    }  # fmt: skip
    filler = small_disk / "filler"

    def fill() -> None:
        with open(filler, "wb", buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(4096))
            except OSError:
                pass

    with site(tmp_path, **places[full]) as here:
        check_that_it_recovers(here, fill, filler.unlink)


def test_a_read_only_disk_is_a_503_until_it_is_writable(small_disk: Path, tmp_path: Path) -> None:
    def remount(how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how},size=3m", str(small_disk)], check=True)

    with site(tmp_path, blobs=f"file://{small_disk}/blobs") as here:
        check_that_it_recovers(here, lambda: remount("ro"), lambda: remount("rw"))


@pytest.mark.parametrize("damage", [b"", b"PK other bytes", None], ids=["empty", "other", "missing"])
def test_a_damaged_or_missing_archive_is_a_503_with_a_sentence_and_no_bytes_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes | None
) -> None:
    with site(tmp_path, cache_bytes=0) as here:
        about = here.publish("pdf", "1.0.0").json()
        name = str(about["archive_digest"]).removeprefix("sha256:")
        file = next((tmp_path / "blobs").rglob(name))
        file.unlink() if damage is None else file.write_bytes(damage)
        for path in ("1.0.0.zip", "download", "files/SKILL.md"):
            answer = here.get(f"/skills/pdf/{path}")
            assert (answer.status_code, name in answer.json()["detail"]) == (503, True), path
        assert here.get("/skills/pdf").status_code == 200
        assert {record.levelname for record in caplog.records if name in record.getMessage()} == {"ERROR"}
        assert here.publish("pdf", "1.0.0").status_code == 200
        assert here.get("/skills/pdf/1.0.0.zip").status_code == 200
