"""Measures reads of a registry while others publish, compare and search, on SQLite and PostgreSQL.

    python -m benchmarks.registry_mixed [--quick] [--json]

Fifty connections read pages, metadata and archives at a fixed rate, first alone and then beside publishers, searches and
comparisons. Publishers aim at 150 per second, with four tokens. Processor time is that of the server's processes.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Report, Target, options
from benchmarks.registry import QUERIES, ROOT, Server, archives, packed, registry

CONNECTIONS, READS = 50, 400
PUBLISHERS, PUBLISHES = 12, 150
_KNOWN = 400
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Load:
    """Requests in one other process."""

    paths: Sequence[str]
    connections: int
    rate: float
    """Per second and connection."""

    def start(self, port: int, seconds: float) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "benchmarks.http_load", "127.0.0.1", str(port), str(seconds), str(self.connections),
                 str(self.rate)]  # fmt: skip
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdin is not None
        process.stdin.write("\n".join(self.paths))
        process.stdin.close()
        return process


def figures(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdout is not None
    found: dict[str, float] = json.loads(process.stdout.read())
    process.wait()
    return found


class Publishers:
    """Threads that publish one archive after the other, at a rate in all."""

    def __init__(self, port: int, tokens: Sequence[str], waiting: Iterator[tuple[str, bytes]], seconds: float) -> None:
        self.times: list[float] = []
        self.refused = 0
        self._waiting, self._lock = waiting, threading.Lock()
        self._started = time.perf_counter()
        self._ends, self._next = self._started + seconds, self._started
        self._threads = [
            threading.Thread(target=self._work, args=(port, tokens[number % len(tokens)])) for number in range(PUBLISHERS)
        ]
        for each in self._threads:
            each.start()

    def _work(self, port: int, token: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        head = {"authorization": f"Bearer {token}", "content-type": "application/zip"}
        while True:
            with self._lock:
                _, archive = next(self._waiting)
                due = self._next = max(self._next + 1 / PUBLISHES, time.perf_counter() - 0.5)
            if due >= self._ends:
                return
            time.sleep(max(0.0, due - time.perf_counter()))
            started = time.perf_counter()
            connection.request("POST", "/skills?visibility=public", archive, head)
            answer = connection.getresponse()
            answer.read()
            with self._lock:
                self.times.append(time.perf_counter() - started)
                self.refused += answer.status not in (200, 201)

    def rate(self) -> float:
        for each in self._threads:
            each.join()
        return (len(self.times) - self.refused) / (time.perf_counter() - self._started)


def main() -> int:
    chosen = options(__doc__, rounds=1, quick=1)
    report = Report("registry under mixed load", as_json=chosen.json)
    seconds = 5.0 if chosen.quick else 15.0
    waiting = archives(10**9)
    known = [next(waiting) for _ in range(_KNOWN)]
    prepared = [next(waiting) for _ in range(round(PUBLISHES * seconds * 5))]
    for engine in ("sqlite", "postgresql"):
        for workers in (1, 2):
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)), engine)
                folder.mkdir()
                os.chmod(folder.parent, 0o755)
                server = stack.enter_context(registry(folder, engine, "--workers", str(workers)))
                names = publish(server, known)
                measure(report, f"{engine}, {workers} worker{'s' * (workers > 1)}", server, names, iter(prepared), seconds)
    return report.finish()


def publish(server: Server, waiting: Sequence[tuple[str, bytes]]) -> list[str]:
    """Publishes skills, and a second version of one for comparisons. Returns the names of those that were not refused."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    head = {"authorization": f"Bearer {server.token}", "content-type": "application/zip"}
    found = []
    again = packed("bench-large", "Forty kilobytes", "# Large\n\nOther text\n", version="1.0.1")
    for name, archive in (*waiting, ("", again)):
        connection.request("POST", "/skills?visibility=public", archive, head)
        answer = connection.getresponse()
        answer.read()
        if name and answer.status in (200, 201):
            found.append(name)
    return found


def measure(
    report: Report, what: str, server: Server, names: Sequence[str], waiting: Iterator[tuple[str, bytes]], seconds: float
) -> None:
    shown = names[:200]
    reads = Load(
        [path for name in shown for path in (f"/skill/{name}", f"/skills/{name}", f"/skills/{name}/1.0.0.zip")],
        CONNECTIONS, READS / CONNECTIONS,
    )  # fmt: skip
    searches = Load([f"/skills?limit=10&q={query.replace(' ', '+')}" for query in QUERIES], 5, 2)
    comparisons = Load(["/skill/bench-large/diff?from=1.0.0&to=1.0.1"], 2, 2.5)
    figures(reads.start(server.port, 2.0))
    alone = figures(reads.start(server.port, seconds))
    tokens = [server.token, *(make_token(server, number) for number in range(3))]
    before = processor_seconds(server)
    others = [each.start(server.port, seconds) for each in (reads, searches, comparisons)]
    publishers = Publishers(server.port, tokens, waiting, seconds)
    beside, searched, compared = map(figures, others)
    rate = publishers.rate()
    used = processor_seconds(server) - before
    times = sorted(publishers.times)
    rows = [("reads alone", alone), ("reads beside publishes", beside), ("searches", searched), ("comparisons", compared)]
    report.add_table(
        what, ("request", "a second", "p50 ms", "p99 ms", "failed"),
        [(name, f"{one['rps']:,.0f}", f"{one['p50']:.1f}", f"{one['p99']:.1f}", f"{one['failed']:.0f}") for name, one in rows]
        + [("publishes", f"{rate:.0f}", f"{times[len(times) // 2] * 1000:.1f}", f"{times[len(times) * 99 // 100] * 1000:.1f}",
            str(publishers.refused))],
    )  # fmt: skip
    report.say(f"processor time of the server: {used / seconds:.2f} cores")
    report.targets.append(Target(what=f"{what}: p99 of reads beside publishes", value=beside["p99"], limit=100, unit="ms"))
    report.targets.append(
        Target(what=f"{what}: publishes a second", value=rate, limit=PUBLISHES * 0.95, unit="", at_least=True)
    )


def make_token(server: Server, number: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    body = json.dumps({"holder": f"team-{number}", "scopes": [f"publish:team-{number}", "read"], "note": "load"})
    head = {"authorization": f"Bearer {server.token}", "content-type": "application/json"}
    connection.request("POST", "/tokens", body, head)
    return str(json.loads(connection.getresponse().read())["token"])


def processor_seconds(server: Server) -> float:
    """Adds up the processor time of the server and of all processes that it started."""
    parents: dict[int, tuple[int, float]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(place.parent.name)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICK)
    total, front = 0.0, [server.process.pid]
    while front:
        one = front.pop()
        total += parents[one][1]
        front += [child for child, (parent, _) in parents.items() if parent == one]
    return total


if __name__ == "__main__":
    sys.exit(main())
