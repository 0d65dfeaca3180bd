"""Uses a registry by many processes at once, kills them at random, and checks that every acknowledged publish exists.

    python -m benchmarks.registry_soak [--minutes 5] [--every 20] [--engine sqlite|postgresql] [--workers 1] [--seed 1]

Clients publish, read and yank concurrently. Beside them, maintenance commands run as separate processes: statistics, tokens,
backups, garbage collection, migrations and a second server; a third of them get SIGKILL at a random moment. So does the
server, which is started again; of several workers, one gets SIGTERM in turn. `postgresql` keeps archives in an object store.

Every backup that exits with 0 is restored and checked. At the end every acknowledged publish is read back, its archive is
compared, its versions are counted, and SQLite checks its file.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import table
from benchmarks.registry import ROOT, free_port, packed, postgres, wait_until_up
from metier.registry import RegistryLocation

sys.path.insert(0, str(ROOT / "tests"))
from registry.process_checks import command, deleted_files, problems_of_backup, problems_of_registry
from registry.server.test_faults import workers_of
from registry.servers import shared_object_store

OTHERS = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)


@dataclass
class Ledger:
    """The events that the clients observed."""

    published: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Acknowledged publishes: name and version to the digests of the response and of the archive."""
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int) -> None:
        self.count(f"{what} {status // 100}xx" if status else f"{what} cut off")

    def count(self, what: str) -> None:
        with self.lock:
            self.answers[what] += 1


class Site:
    """A registry that can be killed and started on the same data and port."""

    def __init__(self, folder: Path, location: RegistryLocation, workers: int) -> None:
        self.folder, self.location, self.workers = folder, location, workers
        self.home, self.port, self.token = folder / "home", free_port(), ""
        self.environment = {"METIER_DB": location.db, "METIER_BLOBS": location.blobs}
        self.process: subprocess.Popen[str] | None = None
        self.home.mkdir()
        (self.home / "config.toml").write_text("[registry]\nrate_limits = false\nproxy_blobs = true\n")

    def start(self) -> None:
        words = ["serve", "--json", "--port", str(self.port), "--workers", str(self.workers)]
        for _ in range(200):
            process = command(self.home, *words, environment=self.environment)
            assert process.stdout is not None
            said = json.loads(process.stdout.readline() or "{}")
            if "admin_token" in said:
                break
            # A second server, or workers whose parent was killed, still have the database or the port.
            process.communicate()
            time.sleep(0.2)
        self.process = process
        self.token = said["admin_token"] or self.token
        wait_until_up(self.port, "/readyz")

    def kill(self) -> None:
        """Kills the server and its workers."""
        assert self.process is not None
        workers = workers_of(self.process) if self.workers > 1 else []  # type: ignore[arg-type]  # only its number is used
        self.process.kill()
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        self.process.communicate()

    def end_worker(self, source: random.Random) -> None:
        assert self.process is not None
        workers = workers_of(self.process)  # type: ignore[arg-type]  # only its number is used
        if workers:
            os.kill(source.choice(workers), signal.SIGTERM)

    def lost_files(self) -> list[str]:
        assert self.process is not None
        workers = workers_of(self.process) if self.workers > 1 else []  # type: ignore[arg-type]  # only its number is used
        return [file for process in (self.process.pid, *workers) for file in deleted_files(process)]

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/zip") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            head = {"authorization": f"Bearer {self.token}", "content-type": kind}
            connection.request(method, path, body, head)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every", type=float, default=20, help="average seconds between two kills of the server")
    parser.add_argument("--engine", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    source = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, ExitStack() as stack:
        folder = Path(place)
        location = RegistryLocation.in_folder(str(folder / "data"))
        if chosen.engine == "postgresql":
            db = stack.enter_context(postgres(folder))
            location = RegistryLocation(db, shared_object_store(folder / "servers").url("metier/soak"))
        site, ledger, stop = Site(folder, location, chosen.workers), Ledger(), threading.Event()
        site.start()
        work = [publisher(site, ledger, number) for number in range(3)] + [reader(site, ledger), reader(site, ledger)]
        work += [yanker(site, ledger), maintainer(site, ledger, random.Random(chosen.seed + 1))]
        threads = [threading.Thread(target=_until, args=(stop, one), daemon=True) for one in work]
        for thread in threads:
            thread.start()
        ends = time.monotonic() + chosen.minutes * 60
        while time.monotonic() < ends:
            time.sleep(min(source.uniform(0.2, 1.8) * chosen.every, max(0.0, ends - time.monotonic())))
            if chosen.workers > 1 and source.random() < 0.5:
                site.end_worker(source)
                ledger.count("worker ended")
            elif time.monotonic() < ends:
                ledger.wrong += site.lost_files()
                site.kill()
                site.start()
                ledger.count("server killed")
        stop.set()
        for thread in threads:
            thread.join(120)
        ledger.wrong += [*site.lost_files(), *audit(site, ledger)]
        site.kill()
        archives = {key: archive for key, (_, archive) in ledger.published.items()}
        ledger.wrong += problems_of_registry(location, archives)
    print(table(("what", "count"), [(name, f"{count:,}") for name, count in sorted(ledger.answers.items())]))
    print(f"\npublishes acknowledged: {len(ledger.published):,}; missing, changed or twice: {len(ledger.wrong)}")
    for line in ledger.wrong[:20]:
        print(line)
    return 1 if ledger.wrong or not ledger.published else 0


def _until(stop: threading.Event, work: Callable[[], None]) -> None:
    while not stop.is_set():
        try:
            work()
        except OTHERS:
            time.sleep(0.1)


def publisher(site: Site, ledger: Ledger, number: int) -> Callable[[], None]:
    source, made = random.Random(number), iter(range(1 << 30))

    def work() -> None:
        turn = next(made)
        name = f"soak-{number}-{turn // 4}"
        archive = packed(name, f"Number {turn} of publisher {number}", source.randbytes(600).hex())
        version = f"1.0.{turn % 4}"
        try:
            status, body = site.ask("POST", f"/skills?visibility=public&version={version}", archive)
        except OTHERS:
            ledger.note("publish", 0)
            raise
        ledger.note("publish", status)
        if status in (200, 201):
            answer = json.loads(body)
            with ledger.lock:
                ledger.published[name, answer["version"]] = answer["digest"], answer["archive_digest"]

    return work


def reader(site: Site, ledger: Ledger) -> Callable[[], None]:
    source = random.Random()

    def work() -> None:
        with ledger.lock:
            known = source.choice(list(ledger.published)) if ledger.published else None
        paths = ["/skills?q=publisher", "/skills?sort=downloads"]
        if known:
            paths += [f"/skills/{known[0]}", f"/skills/{known[0]}/{known[1]}.zip", f"/skills/{known[0]}/versions"]
        try:
            status, _ = site.ask("GET", source.choice(paths))
        except OTHERS:
            ledger.note("read", 0)
            raise
        ledger.note("read", status)

    return work


def yanker(site: Site, ledger: Ledger) -> Callable[[], None]:
    source = random.Random(9)

    def work() -> None:
        time.sleep(0.05)
        with ledger.lock:
            known = source.choice(list(ledger.published)) if ledger.published else None
        if known:
            action = source.choice(("yank", "unyank"))
            path = f"/skills/{known[0]}/versions/{known[1]}/{action}"
            try:
                status, _ = site.ask("POST", path, b'{"reason": "soak"}', "application/json")
            except OTHERS:
                ledger.note("yank", 0)
                raise
            ledger.note("yank", status)

    return work


def maintainer(site: Site, ledger: Ledger, source: random.Random) -> Callable[[], None]:
    """Runs one maintenance command after the other, and kills some of them."""
    turns = iter(range(1 << 30))

    def work() -> None:
        turn = next(turns)
        folder = site.folder / f"backup-{turn % 3}"
        copy = RegistryLocation.in_folder(str(site.folder / "copy"))
        words = source.choice(
            (["stats"], ["token", "create", "ann", "--scope", "read"], ["gc"], ["backup", str(folder)],
             ["backup", str(folder)], ["serve", "--port", "0"], ["migrate", "--to", copy.db, copy.blobs])
        )  # fmt: skip
        process = command(site.home, *words, environment=site.environment)
        is_killed, name = source.random() < 1 / 3, words[0]
        try:
            _, err = process.communicate(timeout=source.uniform(0.2, 2.5) if is_killed else 4 if name == "serve" else 120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            ledger.count(f"{name} killed")
            return
        ledger.count(f"{name} exit {process.returncode}")
        if process.returncode not in (0, 6):
            sys.stderr.write(f"{name}: {err.strip()[-300:]}\n")
        if name == "serve" and site.location.db.startswith("sqlite") and process.returncode != 6:
            ledger.wrong.append(f"a second server was not refused: exit {process.returncode}, {err[-200:]}")
        if name == "backup" and process.returncode == 0:
            restored = site.folder / "restored"
            ledger.wrong += problems_of_backup(folder, restored)
            shutil.rmtree(restored)
            ledger.count("backup restored")

    return work


def audit(site: Site, ledger: Ledger) -> list[str]:
    """Reads back every acknowledged publish."""
    wrong: list[str] = []
    for (name, version), (digest, archive) in ledger.published.items():
        status, body = site.ask("GET", f"/skills/{name}/versions")
        rows = json.loads(body).get("versions", []) if status == 200 else []
        mine = [row for row in rows if row["version"] == version]
        if len(mine) != 1 or mine[0]["digest"] != digest:
            wrong.append(f"{name} {version}: {len(mine)} rows, status {status}")
            continue
        status, data = site.ask("GET", f"/skills/{name}/{version}.zip")
        if status != 200 or f"sha256:{hashlib.sha256(data).hexdigest()}" != archive:
            wrong.append(f"{name} {version}: its archive is not what was answered (status {status})")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
