"""Kills a registry repeatedly under mixed load, and checks that every acknowledged publish exists once and complete.

    python -m benchmarks.registry_soak [--minutes 5] [--every 20] [--engine sqlite|postgresql]

Clients publish, read and yank concurrently; the server gets SIGKILL at an interval and is restarted. At the end every
acknowledged publish is read back, its archive is compared, and its versions are counted.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import table
from benchmarks.registry import free_port, packed, postgres, wait_until_up

OTHERS = (ConnectionError, http.client.HTTPException, TimeoutError, OSError)


@dataclass
class Ledger:
    """The events that the clients observed."""

    published: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Acknowledged publishes: name and version to the digests of the response and of the archive."""
    answers: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int) -> None:
        with self.lock:
            self.answers[f"{what} {status // 100}xx" if status else f"{what} cut off"] += 1


class Site:
    """A registry that can be killed and started on the same files and port."""

    def __init__(self, folder: Path, db: str) -> None:
        self.folder, self.db, self.port, self.token = folder, db, free_port(), ""
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        home = self.folder / "home" / ".metier"
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.toml").write_text("[registry]\nrate_limits = false\n")
        words = [sys.executable, "-m", "metier", "registry", "serve", "--json", "--port", str(self.port), "--db", self.db,
                 "--blobs", f"file://{self.folder}/blobs"]  # fmt: skip
        environment = {**os.environ, "METIER_HOME": str(home)}
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
        assert self.process.stdout is not None
        self.token = json.loads(self.process.stdout.readline())["admin_token"] or self.token
        wait_until_up(self.port, "/readyz")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/zip") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            head = {"authorization": f"Bearer {self.token}", "content-type": kind}
            connection.request(method, path, body, head)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every", type=float, default=20, help="seconds between two kills")
    parser.add_argument("--engine", choices=("sqlite", "postgresql"), default="sqlite")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, ExitStack() as stack:
        folder = Path(place)
        db = f"sqlite://{folder}/registry.sqlite" if chosen.engine == "sqlite" else stack.enter_context(postgres(folder))
        site, ledger, stop = Site(folder, db), Ledger(), threading.Event()
        site.start()
        work = [publisher(site, ledger, number) for number in range(3)] + [reader(site, ledger), reader(site, ledger)]
        work.append(yanker(site, ledger))
        threads = [threading.Thread(target=_until, args=(stop, one), daemon=True) for one in work]
        for thread in threads:
            thread.start()
        kills, ends = 0, time.monotonic() + chosen.minutes * 60
        while time.monotonic() < ends:
            time.sleep(min(chosen.every, max(0.0, ends - time.monotonic())))
            if time.monotonic() < ends:
                site.kill()
                site.start()
                kills += 1
        stop.set()
        for thread in threads:
            thread.join(60)
        wrong = audit(site, ledger)
        site.kill()
    print(
        table(
            ("what", "count"),
            [("kills", f"{kills}"), *((name, f"{count:,}") for name, count in sorted(ledger.answers.items()))],
        )
    )
    print(f"\npublishes answered: {len(ledger.published):,}; missing, changed or twice: {len(wrong)}")
    for line in wrong[:20]:
        print(line)
    return 1 if wrong or not ledger.published else 0


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
