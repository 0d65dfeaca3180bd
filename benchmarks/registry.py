"""Compares the registry with a bare Starlette route on SQLite and PostgreSQL: requests per second, search, publish, memory.

    python -m benchmarks.registry [--quick] [--json]

Registry and bare route are measured in turns. Server and client run on separate cores if there are two. PostgreSQL comes from
the wheel in the group `servers`. Skills come from selection/corpus.jsonl.gz in METIER_DATA if that is set, else they are
generated.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.measure import Report, Target, options
from metier.archive import pack
from metier.spec import MemoryFiles

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("METIER_DATA") or ROOT / "benchmarks" / "data") / "selection"
CONNECTIONS = 50
PAGE_SHARES = {"sqlite": (0.3, 0.1), "postgresql": (0.2, 0.05)}
"""The least share of the bare route's answers, for the page of a skill and for a search."""
_PAGES = 500
QUERIES = (
    "pdf forms", "review a pull request", "kubernetes deployment", "react component tests", "sql query optimisation",
    "write a changelog", "security audit", "plot csv data", "terraform module", "docker compose", "translate text",
    "browser automation", "excel spreadsheet", "git commit message", "api documentation", "kubernets", "pyhton testing",
    "slack message", "image resize", "machine learning pipeline",
)  # fmt: skip


@dataclass(frozen=True)
class Server:
    port: int
    process: subprocess.Popen[bytes]
    token: str = ""

    def rss(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", text)
        return int(found[1]) / 1024 if found else 0.0


def main() -> int:
    chosen = options(__doc__, rounds=5, quick=2)
    report = Report("registry", as_json=chosen.json)
    amount = 3_000 if chosen.quick else 20_000
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place, floor() as bare:
        for engine, least, slowest in (("sqlite", 0.6, 15.0), ("postgresql", 0.25, 25.0)):
            folder = Path(place, engine)
            folder.mkdir()
            with registry(folder, engine) as server:
                times = publish_all(server, amount)
                report_publishes(report, engine, list(times.values()))
                report_reads(report, engine, server, bare, list(times), chosen.rounds, least)
                report_search(report, engine, server, slowest)
                what = f"{engine}: memory of a worker after all of it"
                report.targets.append(Target(what=what, value=server.rss(), limit=150, unit="MB"))
    return report.finish()


def report_publishes(report: Report, engine: str, times: Sequence[float]) -> None:
    step = max(1, len(times) // 10)
    spans = [median(times[start : start + step]) * 1000 for start in range(0, len(times) - step + 1, step)]
    rows = [(f"{number * step:,}", f"{span:.1f}") for number, span in enumerate(spans)]
    report.add_table(f"{engine}: publishing {len(times):,} skills", ("from", "median ms"), rows)
    half = median(times[:step]), median(times[-step:])
    report.targets.append(Target(what=f"{engine}: last publishes against the first", value=half[1] / half[0], limit=1.5))


def report_reads(
    report: Report, engine: str, server: Server, bare: Server, known: list[str], rounds: int, least: float
) -> None:
    names = random.Random(1).sample(known, min(len(known), 2_000))
    asked = {
        "bare route": (bare, ["/j"]),
        "GET /skills/{name}": (server, [f"/skills/{name}" for name in names]),
        "GET /skill/{name}": (server, [f"/skill/{name}" for name in names[:_PAGES]]),
        "search": (server, [f"/skills?limit=10&q={query.replace(' ', '+')}" for query in QUERIES]),
        "40 kB download": (server, ["/skills/bench-large/download"]),
        "40 kB download_url": (server, ["/skills/bench-large/1.0.0.zip"]),
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in asked}
    for number in range(-1, rounds):
        for name, (which, paths) in asked.items():
            figures = load(which.port, paths, seconds=0.5 if number < 0 else 3.0)
            if number >= 0:
                found[name].append(figures)
    middle = {name: {key: median(one[key] for one in rows) for key in rows[0]} for name, rows in found.items()}
    floor_rps = middle["bare route"]["rps"]
    report.add_table(
        f"{engine}: {CONNECTIONS} connections", ("request", "a second", "of the bare route", "p50 ms", "p99 ms", "failed"),
        [(name, f"{one['rps']:,.0f}", f"{one['rps'] / floor_rps:.2f}", f"{one['p50']:.1f}", f"{one['p99']:.1f}",
          f"{one['failed']:.0f}") for name, one in middle.items()],
    )  # fmt: skip
    page, search = PAGE_SHARES[engine]
    shares = {"GET /skills/{name}": least, "GET /skill/{name}": page, "search": search, "40 kB download": least}
    for name, share in shares.items():
        what = f"{engine}: bare route against {name}, answers a second"
        report.targets.append(Target(what=what, value=floor_rps / middle[name]["rps"], limit=round(1 / share, 3)))
    what = f"{engine}: /download against the download_url, answers a second"
    slower = middle["40 kB download"]["rps"] / middle["40 kB download_url"]["rps"]
    report.targets.append(Target(what=what, value=slower, limit=1.2))


def report_search(report: Report, engine: str, server: Server, slowest: float) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    times = []
    for _ in range(10):
        for query in QUERIES:
            started = time.perf_counter()
            connection.request("GET", f"/skills?limit=10&q={query.replace(' ', '+')}")
            answer = connection.getresponse().read()
            times.append((time.perf_counter() - started) * 1000)
            assert b'"skills"' in answer
    times.sort()
    row = (f"{median(times):.1f}", f"{times[len(times) * 95 // 100]:.1f}", f"{times[-1]:.1f}")
    report.add_table(f"{engine}: search over HTTP", ("p50 ms", "p95 ms", "max ms"), [row])
    report.targets.append(Target(what=f"{engine}: search p50", value=median(times), limit=slowest, unit="ms"))


def load(port: int, paths: Sequence[str], *, seconds: float) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.http_load", "127.0.0.1", str(port), str(seconds), str(CONNECTIONS)]
    done = subprocess.run(words, input="\n".join(paths), capture_output=True, text=True, check=True, cwd=ROOT)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def publish_all(server: Server, amount: int) -> dict[str, float]:
    """Returns the duration of each publish by name. Skills that the scan refuses are left out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    head = {"authorization": f"Bearer {server.token}", "content-type": "application/zip"}
    times: dict[str, float] = {}
    for name, archive in archives(amount):
        started = time.perf_counter()
        connection.request("POST", "/skills?visibility=public", archive, head)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status in (200, 201):
            times[name] = time.perf_counter() - started
        elif answer.status != 422:
            raise SystemExit(f"publishing failed with {answer.status}: {body[:500]!r}")
    return times


def archives(amount: int) -> Iterator[tuple[str, bytes]]:
    """Yields a skill of 40 kB, then `amount` other packed skills. Packing is not measured."""
    noise = random.Random(0).randbytes(40_000)
    yield "bench-large", packed("bench-large", "Forty kilobytes to download", "# Large\n", {"assets/noise.bin": noise})
    for number, (description, body) in zip(range(amount), _texts(), strict=False):
        yield f"bench-{number}", packed(f"bench-{number}", description, body)


def packed(name: str, description: str, body: str, more: dict[str, bytes] | None = None, *, version: str = "1.0.0") -> bytes:
    about = json.dumps(" ".join(description.split())[:1000] or "Nothing", ensure_ascii=False)
    text = f"---\nname: {name}\ndescription: {about}\nlicense: MIT\nmetadata:\n  version: {version}\n---\n\n{body}\n"
    return pack(MemoryFiles({"SKILL.md": text.encode(), **(more or {})}))


def _texts() -> Iterator[tuple[str, str]]:
    corpus = DATA / "corpus.jsonl.gz"
    while corpus.exists():
        with gzip.open(corpus, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield re.sub(r"[<>]", " ", row["description"]), row["body"][:20_000]
    words = [f"word{number}" for number in range(5_000)]
    source = random.Random(2)
    while True:
        yield " ".join(source.choices(words, k=30)), " ".join(source.choices(words, k=600))


@contextlib.contextmanager
def floor() -> Iterator[Server]:
    port = free_port()
    words = [sys.executable, "-m", "benchmarks.registry_floor", str(port)]
    with subprocess.Popen(words, cwd=ROOT) as process:
        try:
            wait_until_up(port, "/j")
            yield Server(port, process)
        finally:
            process.terminate()


@contextlib.contextmanager
def registry(folder: Path, engine: str, *more: str) -> Iterator[Server]:
    """Runs a server with its data in the folder."""
    with contextlib.ExitStack() as stack:
        db = f"sqlite://{folder}/registry.sqlite" if engine == "sqlite" else stack.enter_context(postgres(folder))
        yield stack.enter_context(serving(folder, db, *more))


@contextlib.contextmanager
def serving(folder: Path, db: str, *more: str) -> Iterator[Server]:
    """Runs a server on a database."""
    home = folder / "home"
    (home / ".metier").mkdir(parents=True, exist_ok=True)
    (home / ".metier" / "config.toml").write_text("[registry]\nrate_limits = false\n")
    environment = {**os.environ, "HOME": str(home), "METIER_HOME": str(home / ".metier")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    port = free_port()
    words = [sys.executable, "-m", "metier", "registry", "serve", "--json", "--port", str(port), "--db", db,
             "--blobs", f"file://{folder}/blobs", *more]  # fmt: skip
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            token = json.loads(process.stdout.readline())["admin_token"] or ""
            wait_until_up(port, "/readyz")
            yield Server(port, process, token)
        finally:
            process.terminate()


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str]:
    sys.path.insert(0, str(ROOT / "tests"))
    from registry.servers import shared_postgres

    os.chmod(folder, 0o755)
    with shared_postgres(folder / "servers").database() as url:
        yield url


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_until_up(port: int, path: str) -> None:
    for _ in range(400):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise SystemExit(f"nothing answers at {port}")


if __name__ == "__main__":
    sys.exit(main())
