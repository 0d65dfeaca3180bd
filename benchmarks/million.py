"""Measures search in PostgreSQL and the local selector with a million generated skills.

    python -m benchmarks.million [--quick] [--json] [--folder DIR]

The texts are random words of the interpreter's own library. A word is in as many skills as the word of the same rank in real
skills; with `--library`, as often as in the library itself. Skills are written to the database with COPY, because publishing
a million of them would measure the checks. With `--folder`, the database and the selector's index
stay there and are used again. The selector's index repeats one part of the library, because only its size matters here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import itertools
import keyword
import math
import mmap
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measure import Report, Target
from benchmarks.registry import ROOT, serving
from metier.registry.domain.access import ANONYMOUS
from metier.registry.domain.queries import ListQuery, Queries
from metier.registry.domain.search_terms import document_terms, forms, spelling_words
from metier.registry.store.sql_store import open_store
from metier.selection import STOP_WORDS, Selector
from metier.selection.index_document import read_skill
from metier.selection.segment import build_segments, merge_segments
from metier.selection.trained_data import load_trained_data
from metier.testing.registry import draft

SKILLS = 1_000_000
QUICK = 50_000
_LOADED = 5_000
_PART = 50_000
_QUERIES = 200
_VOCABULARY = 300_000
_FEW = 20_000
_PUBLISHES, _TURN = 200, 50

# The share of 10,506 real skills of a public corpus that have the word of this rank, counted with `document_terms`.
NAMES = ((1, 0.0253), (5, 0.0222), (10, 0.019), (20, 0.0128), (50, 0.006), (100, 0.0037), (200, 0.0023), (500, 0.001),
         (1_000, 0.0005), (2_000, 0.0002), (5_000, 0.00004))  # fmt: skip
DESCRIPTIONS = ((1, 0.192), (2, 0.183), (4, 0.137), (9, 0.106), (19, 0.081), (49, 0.054), (99, 0.0365), (199, 0.0215),
                (499, 0.0106), (999, 0.0049), (1_999, 0.0017), (4_999, 0.0004), (9_999, 0.0001))  # fmt: skip
ANYWHERE = ((1, 0.86), (5, 0.69), (10, 0.507), (20, 0.428), (50, 0.338), (100, 0.261), (200, 0.187), (500, 0.0928),
            (1_000, 0.0437), (2_000, 0.0153), (5_000, 0.003), (10_000, 0.001), (20_000, 0.0004))  # fmt: skip


@dataclass(frozen=True, slots=True)
class GeneratedSkill:
    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Words:
    """Words for each field of a skill, with their weights added up, the most common first."""

    texts: list[str]
    name: list[float]
    about: list[float]
    body: list[float]
    sizes: tuple[int, int]
    """Words of a description and of a body."""

    @classmethod
    def as_in_library(cls) -> Words:
        """The words of the interpreter's own modules, as often as there, in every field."""
        common = library_words().most_common()
        weights = [float(total) for total in itertools.accumulate(count for _, count in common)]
        return cls([word for word, _ in common], weights, weights, weights, (20, 80))

    @classmethod
    def as_in_skills(cls) -> Words:
        """The same words, alone and in pairs, each in as many skills as the word of its rank in real ones."""
        alone = [word for word, _ in library_words().most_common()]
        pairs = (one + other for one, other in itertools.product(alone[:1_000], alone[:1_000]))
        texts = list(itertools.islice(dict.fromkeys(itertools.chain(alone, pairs)), _VOCABULARY))
        name, about, body = (list(itertools.accumulate(_weights(curve))) for curve in (NAMES, DESCRIPTIONS, ANYWHERE))
        return cls(texts, name, about, body, (round(about[-1]), round(body[-1] - about[-1])))

    def pick(self, source: random.Random, weights: list[float], amount: int) -> list[str]:
        return source.choices(self.texts, cum_weights=weights, k=amount)


def library_words() -> Counter[str]:
    """Counts the words of the interpreter's own modules."""
    counts: Counter[str] = Counter()
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        counts.update(re.findall(r"(?<![\w.])[a-z]{3,14}(?![\w(])", file.read_text("utf-8", "replace")))
    for word in (*keyword.kwlist, "self", "cls", "str", "int", "len", *STOP_WORDS):
        counts.pop(word, None)
    return counts


def _weights(curve: Sequence[tuple[int, float]]) -> Iterator[float]:
    """Yields how often a word of each rank is drawn, so that it is in its share of skills. Lines on logarithmic scales."""
    (rank, share), *rest = curve
    place = 1
    slope = 0.0
    for to, share_there in rest:
        slope = math.log(share_there / share) / math.log(to / rank)
        while place <= to:
            yield -math.log1p(-share * (place / rank) ** slope)
            place += 1
        rank, share = to, share_there
    while place <= _VOCABULARY:
        yield -math.log1p(-share * (place / rank) ** slope)
        place += 1


def generate(words: Words, amount: int, *, seed: int = 0) -> Iterator[GeneratedSkill]:
    source = random.Random(seed)
    taken: set[str] = set()
    for number in range(amount):
        name = "-".join(words.pick(source, words.name, source.choice((2, 2, 2, 3, 3, 4))))
        if name in taken or len(name) > 56:
            name = f"{name[:56].rstrip('-')}-{number}"
        taken.add(name)
        about = words.pick(source, words.about, words.sizes[0])
        half = len(about) // 2
        yield GeneratedSkill(
            id=name,
            name=name,
            description=f"{' '.join(about[:half]).capitalize()}. Use when {' '.join(about[half:])}.",
            tags=tuple(dict.fromkeys(about[:2])),
            body=" ".join(words.pick(source, words.body, words.sizes[1])),
        )


def queries(words: Words, amount: int) -> list[str]:
    """Returns requests of one to five words of descriptions: frequent and rare ones, some incomplete, some misspelt."""
    source = random.Random(7)
    made = []
    for number in range(amount):
        chosen = words.pick(source, words.about, 1 + number % 5)
        if number % 10 == 3:
            chosen[-1] = chosen[-1][: max(3, len(chosen[-1]) - 2)]
        elif number % 10 == 7 and len(chosen[0]) > 5:
            chosen[0] = chosen[0][:2] + chosen[0][3:]
        made.append(" ".join(chosen))
    return made


# The database


async def _migrate(url: str) -> None:
    await (await open_store(url)).close()


async def _count_terms(url: str) -> None:
    store = await open_store(url)
    await store.count_terms()
    await store.close()


def fill(url: str, skills: Iterator[GeneratedSkill], amount: int, report: Report) -> None:
    """Writes skills, with the indexes made afterwards."""
    import psycopg

    asyncio.run(_migrate(url))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")  # no checks of foreign keys
        connection.execute("set maintenance_work_mem = '512MB'")
        held = connection.execute(
            "select indexname, indexdef from pg_indexes where tablename in ('words', 'package_word', 'package', 'release')"
            " and indexname not in (select conname from pg_constraint) and schemaname = 'public'"
        ).fetchall()
        for name, _ in held:
            connection.execute(f'drop index "{name}"')
        known: set[str] = set()
        for start in range(0, amount, _LOADED):
            _copy_batch(connection, start + 1, list(itertools.islice(skills, _LOADED)), known)
            if start % (_LOADED * 20) == 0:
                report.say(f"{start + _LOADED:,} skills")
        rows = sorted((form, word) for word in known for form in set(forms(word)))
        _copy(connection, "spelling (form, word)", rows)
        for name, sql in held:
            report.say(f"index {name}")
            connection.execute(sql)
        for table in ("package", "release"):
            connection.execute(f"select setval(pg_get_serial_sequence('{table}', 'id'), (select max(id) from {table}))")
        connection.execute("vacuum analyze")
    asyncio.run(_count_terms(url))


def _copy_batch(connection: Any, first: int, skills: Sequence[GeneratedSkill], known: set[str]) -> None:
    packages, releases, owners, words, spelt, keywords = [], [], [], [], [], []
    for number, skill in enumerate(skills, first):
        tags, at, digest = " ".join(skill.tags), 1_700_000_000_000 + number, f"sha256:{number:064x}"
        downloads = int(1_000_000 / (1 + (number * 7919) % 1_000_003))
        facts = (skill.description, "bench", "MIT", tags)
        packages.append((number, "skill", skill.name, "bench", "public", "active", at, at, downloads, "1.0.0", *facts, "pass",
                         digest, f"{number:064x}", 1000))  # fmt: skip
        releases.append((number, "1.0.0", digest, f"{number:064x}", 1000, *facts, '{"files": []}', at, "bench", "pass", "[]"))
        owners.append((number, "bench", 0))
        columns = document_terms(skill.name, skill.tags, skill.description, skill.body)
        marked = (f"'{term}':{place + 1}{weight}" for weight, terms in zip("ABCD", columns, strict=True)
                  for place, term in enumerate(terms))  # fmt: skip
        words.append((number, " ".join(marked)))
        found = spelling_words(skill.name, tags, skill.description)
        known.update(found)
        spelt += [(number, word) for word in found]
        keywords += [(number, tag) for tag in skill.tags]
    _copy(connection, "package (id, kind, name, namespace, visibility, status, created, updated, downloads, version,"
          " description, author, license, tags, verdict, digest, archive, size)", packages)  # fmt: skip
    _copy(connection, "release (package, version, digest, archive, size, description, author, license, tags, details,"
          " published, publisher, verdict, findings)", releases)  # fmt: skip
    _copy(connection, "owner (package, namespace, place)", owners)
    _copy(connection, "words (package, terms)", words)
    _copy(connection, "package_word (package, word)", spelt)
    _copy(connection, "keyword (package, word)", keywords)


def _copy(connection: Any, table: str, rows: Sequence[Sequence[object]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"copy {table} from stdin") as copy:
        for row in rows:
            copy.write_row(row)


@contextlib.contextmanager
def kept_postgres(folder: Path) -> Iterator[tuple[str, bool]]:
    """Runs PostgreSQL with its data in the folder. Yields the address of its database, and whether it is new."""
    sys.path.insert(0, str(ROOT / "tests"))
    import psycopg

    from registry.servers import find_programs, free_port

    place = folder / "postgres"
    is_new = not (place / "filled").exists()
    as_user: list[str] = []
    if is_new:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chmod(folder, 0o755)
        os.chown(place, 65534, 65534)
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    programs, data, port = find_programs(as_user), place / "data", free_port()
    if is_new:
        words = [f"{programs}/initdb", "-D", str(data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")
    settings = ("max_wal_size=4GB", "shared_buffers=1GB", "effective_cache_size=4GB", "jit=off", "random_page_cost=1.1")
    words = [*as_user, f"{programs}/postgres", "-D", str(data), "-p", str(port), "-k", str(place), "-h", "127.0.0.1"]
    with open(folder / "postgres.log", "ab") as log:
        process = subprocess.Popen(
            [*words, *(word for one in settings for word in ("-c", one))], stdout=log, stderr=log, cwd="/"
        )
    url = f"postgresql://tester@127.0.0.1:{port}/postgres"
    try:
        for _ in range(600):
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(url, connect_timeout=1).close()
                break
            time.sleep(0.1)
        yield url, is_new
        (place / "filled").touch()
    finally:
        process.terminate()
        process.wait(60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} skills")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--library", action="store_true", help="words as often as in the interpreter's library, not as in skills"
    )
    parser.add_argument("--folder", type=Path, help="keep database and index here")
    chosen = parser.parse_args()
    amount = QUICK if chosen.quick else SKILLS
    words = Words.as_in_library() if chosen.library else Words.as_in_skills()
    report = Report(f"a registry and a selector with {amount:,} skills", as_json=chosen.json)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = chosen.folder or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        with kept_postgres(folder) as (url, is_new):
            if is_new:
                fill(url, generate(words, amount), amount, report)
            asyncio.run(report_search(report, url, words))
            report_memory(report, url, words)
            asyncio.run(report_publish(report, url, words))
        report_selector(report, folder / "selector.index", words, amount)
    return report.finish()


async def report_search(report: Report, url: str, words: Words) -> None:
    store = await open_store(url)
    found = Queries(store, None, lambda: 0)  # type: ignore[arg-type]  # a search reads no blob
    times: list[float] = []
    walls: list[float] = []
    for number in range(2):
        for query in queries(words, _QUERIES):
            used, started = _processor_ms(), time.perf_counter()
            await found.find(ANONYMOUS, ListQuery(query=query))
            if number:
                walls.append((time.perf_counter() - started) * 1000)
                times.append(_processor_ms() - used)
    await store.close()
    _report_times(report, "search in PostgreSQL, processor time of both sides", times, p50=60, p95=250)
    _report_times(report, "search in PostgreSQL, time", walls, p50=60, p95=250)


def _processor_ms() -> float:
    """Returns the processor time of this process and of all connections of PostgreSQL, which a busy machine does not change."""
    used = time.process_time() * 1000
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (place / "cmdline").read_bytes().startswith(b"postgres: tester"):
                used += int((place / "schedstat").read_text().split()[0]) / 1e6
    return used


async def report_publish(report: Report, url: str, words: Words) -> None:
    """Publishes to the large database and to one of 20,000 skills in turn, without the checks, which read no database."""
    import psycopg

    small = url.replace("/postgres", "/small")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop database if exists small")
        connection.execute("create database small")
    await asyncio.to_thread(fill, small, generate(words, _FEW), _FEW, report)
    used: dict[str, list[float]] = {small: [], url: []}
    waiting = generate(words, _PUBLISHES, seed=time.time_ns())
    for _ in range(_PUBLISHES // _TURN):
        some = list(itertools.islice(waiting, _TURN))
        for each, times in used.items():
            store = await open_store(each)
            for skill in some:
                made = draft(f"new-{skill.name}", description=skill.description, tags=skill.tags, body=skill.body)
                started = _processor_ms()
                await store.publish(made, None)
                times.append(_processor_ms() - started)
            await store.close()
    few, many = median(used[small]), median(used[url])
    report.say(f"writing the rows of a publish: {few:.1f} ms with {_FEW:,} skills, {many:.1f} ms with all")
    report.targets.append(Target(what=f"a publish, against one with {_FEW:,} skills", value=many / few, limit=1.2))


def report_memory(report: Report, url: str, words: Words) -> None:
    """Searches through a server with one worker."""
    with tempfile.TemporaryDirectory() as place, serving(Path(place), url) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        for query in queries(words, _QUERIES):
            connection.request("GET", f"/skills?q={query.replace(' ', '+')}")
            connection.getresponse().read()
        report.targets.append(Target(what="memory of a worker", value=server.rss(), limit=200, unit="MB"))


@dataclass(frozen=True, slots=True)
class FoundSkill:
    id: str
    description: str = ""

    @property
    def name(self) -> str:
        return self.id


def report_selector(report: Report, file: Path, words: Words, amount: int) -> None:
    if not file.exists():
        part = build_segments([read_skill(skill) for skill in generate(words, _PART)], load_trained_data())
        parts = [part] * (amount // _PART)
        file.write_bytes(merge_segments(parts, [np.ones(len(part), dtype=bool)] * len(parts)).to_bytes())
    opened: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        with open(file, "rb") as stream:
            selector = Selector.from_buffer(mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ), FoundSkill)
        opened.append(time.perf_counter() - started)
    report.targets.append(Target(what="selector: opened", value=median(opened), limit=2, unit="s"))
    report.targets.append(Target(what="selector: mapped", value=file.stat().st_size / 1e9, limit=2.5, unit="GB"))
    times: list[float] = []
    for number in range(2):
        for query in queries(words, _QUERIES):
            started = time.process_time()
            selector.select(query, 5)
            if number:
                times.append((time.process_time() - started) * 1000)
    _report_times(report, "selector, CPU time", times, p50=25, p95=100)


def _report_times(report: Report, what: str, times: list[float], *, p50: float, p95: float) -> None:
    times.sort()
    report.targets.append(Target(what=f"{what}: p50", value=median(times), limit=p50, unit="ms"))
    report.targets.append(Target(what=f"{what}: p95", value=times[len(times) * 95 // 100], limit=p95, unit="ms"))


if __name__ == "__main__":
    sys.exit(main())
