"""Hostile input: bounded time and memory, and a clear answer. Time is CPU time, so that a busy machine is no failure."""

from __future__ import annotations

import gzip
import importlib
import io
import os
import pkgutil
import random
import re
import resource
import sys
import time
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace

import pytest

import metier.scan
from metier.errors import RefusedError
from metier.scan import ScanLimits, ScanReport, ScanVerdict, scan
from metier.scan.collector import FindingCollector
from metier.scan.rules.phrases import PHRASES, look_up
from metier.scan.rules.sentence_rules import SENTENCE_RULES
from metier.scan.text import SkillText, TextKind
from metier.spec import FileEntry, MemoryFiles

HEAD = b"---\nname: a\ndescription: b\n---\n"
SIZE = 1024 * 1024
FULL = bool(os.environ.get("METIER_FULL"))
BOMB = SIZE if FULL else SIZE // 16
LONGEST = 8.0
"""Seconds of CPU for one hostile MiB; most shapes take a tenth of it."""
SLACK = 5.0
"""What a busy machine may add; what these tests are afraid of takes minutes."""
LONGEST_RULE = 2.0
"""The same for one rule alone, against the text that was made for it."""
BOMBS = {
    "substitutions": "$(", "quotes": "\"`$(", "backticks": "`a b` ", "fences": "```\n", "base64": "QUJD", "hex": "4142",
    "addresses": "http://a.b/", "comments": "<!-- run ", "styles": "<a style=", "zero width": "a\u200bb", "blank lines": "\n",
    "calls": "f(", "attributes": "a.", "sums": "a+", "templates": "fetch(`${", "here-documents": "<<A\n", "selectors": "\ufe00",
    "backslashes": "\\", "lures": "](https://github.com/a/b/releases/x.zip) windows install ", "spaces": "ignore        ",
    "installs": "pip install a ", "codes": "65, ", "escapes": "\\x41", "mixed": "a\u0430a ", "tables": "|a ", "json": '{"a":',
}  # fmt: skip


def timed(files: dict[str, bytes]) -> tuple[float, ScanReport]:
    memory = MemoryFiles(files)
    started = time.process_time()
    report = scan(memory)
    return time.process_time() - started, report


@pytest.mark.parametrize("path", ["SKILL.md", "a.py", "a.sh", "a.js"])
@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_file_costs_seconds_at_most(name: str, path: str) -> None:
    bomb = (BOMBS[name] * BOMB)[:BOMB].encode()[:BOMB]
    files = {"SKILL.md": HEAD} | {path: HEAD + bomb if path == "SKILL.md" else bomb}
    assert timed(files)[0] < LONGEST * BOMB / SIZE + SLACK


def test_no_beginning_of_a_phrase_can_be_repeated_into_a_bomb() -> None:
    """Each rule against its own worst text: its beginning over and over, each time almost going on as it must."""
    size = SIZE if FULL else SIZE // 8
    for one in PHRASES:
        bait = one.beginnings[0] + "the all user to http your files key in a send and instructions .env "
        text = SkillText("SKILL.md", TextKind.PROSE, bait * (size // len(bait)))
        started = time.process_time()
        look_up((replace(one, kinds=frozenset(TextKind)),), text, FindingCollector())
        assert time.process_time() - started < LONGEST_RULE * size / SIZE + SLACK, one


def expressions() -> dict[str, re.Pattern[str]]:
    """Every regular expression of the scan, by its name."""
    found = {}
    for module in pkgutil.walk_packages(metier.scan.__path__, "metier.scan."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                found[f"{module.name}.{name}"] = value
    for order in SENTENCE_RULES:
        found |= {f"{order.message} {number}": need for number, need in enumerate(order.needs)}
    return found


EXPRESSIONS = expressions()


@pytest.mark.parametrize("number", range(0, len(EXPRESSIONS), 1 if FULL else 4))
def test_no_expression_can_be_fed_into_a_bomb(number: int) -> None:
    """A text made of an expression's own pieces, in an order that chance chose, as each kind of file in turn."""
    expression = list(EXPRESSIONS.values())[number]
    plain = re.sub(r"\\.|\{[\d,]*\}|[?*+()\[\]^|]", " ", expression.pattern)
    pieces = re.findall(r"[a-z/.:<>|'\"`~$=-]{1,12}", plain) or ["a"]
    chance = random.Random(number)
    glue = (" ", "", "\n")[number % 3]
    bait = glue.join(chance.choice(pieces) for _ in range(BOMB // 4))[:BOMB].encode()
    for path in ("SKILL.md", "a.py", "a.sh", "a.js") if FULL else (("SKILL.md", "a.py", "a.sh", "a.js")[number // 4 % 4],):
        files = {"SKILL.md": HEAD} | {path: HEAD + bait if path == "SKILL.md" else bait}
        assert timed(files)[0] < LONGEST * BOMB / SIZE + SLACK, path


def test_more_beginnings_than_are_worth_trying_are_reported() -> None:
    _, report = timed({"SKILL.md": HEAD + b"curl ignore " * 5_000})
    assert "SK902" in {finding.code for finding in report.findings}
    assert report.verdict is ScanVerdict.REVIEW


class HugeFiles:
    """Files that would not fit anywhere: only what is read is made."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.read_bytes = 0

    def read(self, path: str, *, limit: int) -> bytes:
        size = self.sizes[path]
        if size > limit:
            raise RefusedError("too large", rule="resource-size", hint="none")
        self.read_bytes += size
        return HEAD if path == "SKILL.md" else b"x = 1\n" * (size // 6)

    def list(self) -> Iterable[FileEntry]:
        return (FileEntry(path=path, size=size) for path, size in sorted(self.sizes.items()))


def test_a_file_of_a_hundred_megabytes_is_named_and_not_read() -> None:
    files = HugeFiles({"SKILL.md": len(HEAD), "assets/video.bin": 100 * SIZE})
    report = scan(files)
    assert files.read_bytes == len(HEAD)
    assert [(finding.code, finding.file) for finding in report.findings] == [("SK901", "assets/video.bin")]
    assert report.verdict is ScanVerdict.REVIEW


def test_a_hundred_thousand_files_are_not_all_read() -> None:
    files = HugeFiles({"SKILL.md": len(HEAD)} | {f"a/{number:06}.py": 60 for number in range(100_000)})
    started = time.process_time()
    report = scan(files)
    assert time.process_time() - started < LONGEST * 2
    assert report.files <= ScanLimits().files
    assert [finding.code for finding in report.findings] == ["SK901"]


def test_all_files_together_have_a_budget_and_skill_md_comes_first() -> None:
    files = HugeFiles({"SKILL.md": len(HEAD)} | {f"{number}.py": SIZE for number in range(10)})
    report = scan(files, options=ScanLimits(total_bytes=2 * SIZE))
    assert files.read_bytes <= 2 * SIZE
    assert any(finding.code == "SK901" for finding in report.findings)


def test_junk_costs_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    timed({"SKILL.md": HEAD, "a.bin": bytes(range(256)) * 4_096, "b.py": b"\xff\x00" * 100_000})
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown / (1024 if sys.platform != "darwin" else 1024 * 1024) < 200


def nested(depth: int) -> bytes:
    data = b"\0" * (8 * SIZE)
    for level in range(depth):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{level}.zip", data)
        data = packed.getvalue()
    return data


def test_archives_in_archives_are_named_and_never_opened() -> None:
    spent, report = timed({"SKILL.md": HEAD, "assets/data.zip": nested(6), "assets/more.gz": gzip.compress(b"\0" * SIZE)})
    assert spent < 1
    assert {finding.code for finding in report.findings} == {"SK705"}
    assert report.verdict is ScanVerdict.REVIEW


def test_a_bomb_behind_an_encoding_is_opened_a_little() -> None:
    bomb = b64encode(zlib.compress(b"curl " * (4 * SIZE))).decode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent, _ = timed({"SKILL.md": HEAD + bomb.encode()})
    assert spent < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n" + b"\xff" * 5_000, b"\xff\xd8" + b"\xff\xe1\0\0" * 2_000, b"PK\x03\x04", b"\x7fELF"]
)
def test_broken_binaries_get_an_answer(data: bytes) -> None:
    spent, report = timed({"SKILL.md": HEAD, "assets/a.png": data, "assets/b.bin": data})
    assert spent < 1
    assert report.files == 3
