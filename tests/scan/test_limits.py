"""Hostile input: bounded work and memory, and a clear result."""

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
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Iterable

import pytest

import metier.scan
from guards import within_cpu_limit
from metier.errors import RefusedError
from metier.scan import ScanLimits, ScanReport, ScanVerdict, scan
from metier.scan.collector import FindingCollector
from metier.scan.patterns import read_sentence_rules
from metier.scan.rules.phrases import PHRASES, look_up, phrases_of
from metier.scan.text import SkillText
from metier.spec import FileEntry, MemoryFiles

HEAD = b"---\nname: a\ndescription: b\n---\n"
SIZE = 1024 * 1024
FULL = bool(os.environ.get("METIER_FULL"))
BOMB = SIZE if FULL else SIZE // 16
BOMBS = {
    "substitutions": "$(", "quotes": "\"`$(", "backticks": "`a b` ", "fences": "```\n", "base64": "QUJD", "hex": "4142",
    "addresses": "http://a.b/", "comments": "<!-- run ", "styles": "<a style=", "zero width": "a\u200bb", "blank lines": "\n",
    "calls": "f(", "attributes": "a.", "sums": "a+", "templates": "fetch(`${", "here-documents": "<<A\n", "selectors": "\ufe00",
    "backslashes": "\\", "lures": "](https://github.com/a/b/releases/x.zip) windows install ", "spaces": "ignore        ",
    "installs": "pip install a ", "codes": "65, ", "escapes": "\\x41", "mixed": "a\u0430a ", "tables": "|a ", "json": '{"a":',
}  # fmt: skip


def scanned(files: dict[str, bytes]) -> ScanReport:
    return scan(MemoryFiles(files))


@pytest.mark.parametrize("path", ["SKILL.md", "a.py", "a.sh", "a.js"])
@pytest.mark.parametrize("name", BOMBS)
def test_the_work_for_a_hostile_file_is_linear(name: str, path: str) -> None:
    bomb = (BOMBS[name] * BOMB)[:BOMB].encode()[:BOMB]
    files = {"SKILL.md": HEAD} | {path: HEAD + bomb if path == "SKILL.md" else bomb}
    within_cpu_limit(scanned, files)


def test_no_beginning_of_a_phrase_can_be_repeated_into_a_bomb() -> None:
    """Each phrase against its own worst text: its beginning over and over, each time almost completed."""
    size = SIZE // 8 if FULL else SIZE // 64

    def look_up_each() -> None:
        for one in phrases_of(PHRASES):
            bait = one.beginnings[0] + "the all user to http your files key in a send and instructions .env "
            text = SkillText("SKILL.md", min(one.kinds), bait * (size // len(bait)))
            look_up(PHRASES, text, FindingCollector())

    within_cpu_limit(look_up_each)


def expressions() -> dict[str, re.Pattern[str]]:
    """Returns every regular expression of the scan, by its name."""
    found = {}
    for module in pkgutil.walk_packages(metier.scan.__path__, "metier.scan."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                found[f"{module.name}.{name}"] = value
    for rule in read_sentence_rules():
        found |= {f"{rule.message} {number}": need for number, need in enumerate(rule.needs)}
    return found


EXPRESSIONS = expressions()


@pytest.mark.parametrize("number", range(0, len(EXPRESSIONS), 1 if FULL else 4))
def test_no_expression_can_be_fed_into_a_bomb(number: int) -> None:
    """A text made of an expression's own pieces, shuffled, as each kind of file in turn."""
    expression = list(EXPRESSIONS.values())[number]
    plain = re.sub(r"\\.|\{[\d,]*\}|[?*+()\[\]^|]", " ", expression.pattern)
    pieces = re.findall(r"[a-z/.:<>|'\"`~$=-]{1,12}", plain) or ["a"]
    chance = random.Random(number)
    glue = (" ", "", "\n")[number % 3]
    bait = glue.join(chance.choice(pieces) for _ in range(BOMB // 4))[:BOMB].encode()
    for path in ("SKILL.md", "a.py", "a.sh", "a.js") if FULL else (("SKILL.md", "a.py", "a.sh", "a.js")[number // 4 % 4],):
        files = {"SKILL.md": HEAD} | {path: HEAD + bait if path == "SKILL.md" else bait}
        within_cpu_limit(scanned, files)


def test_more_beginnings_than_the_limit_are_reported() -> None:
    report = scanned({"SKILL.md": HEAD + b"curl ignore " * 5_000})
    assert "SK902" in {finding.code for finding in report.findings}
    assert report.verdict is ScanVerdict.REVIEW


class HugeFiles:
    """Files that would not fit anywhere: only what is read is made."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self.read_bytes = 0
        self.reads = 0

    def read(self, path: str, *, limit: int) -> bytes:
        size = self.sizes[path]
        if size > limit:
            raise RefusedError("too large", rule="resource-size", hint="none")
        self.read_bytes += size
        self.reads += 1
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
    report = scan(files)
    assert files.reads == report.files <= ScanLimits().files
    assert [finding.code for finding in report.findings] == ["SK901"]


def test_all_files_together_have_a_budget_and_skill_md_comes_first() -> None:
    files = HugeFiles({"SKILL.md": len(HEAD)} | {f"{number}.py": SIZE for number in range(10)})
    report = scan(files, options=ScanLimits(total_bytes=2 * SIZE))
    assert files.read_bytes <= 2 * SIZE
    assert any(finding.code == "SK901" for finding in report.findings)


def test_junk_costs_little_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scanned({"SKILL.md": HEAD, "a.bin": bytes(range(256)) * 4_096, "b.py": b"\xff\x00" * 100_000})
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
    report = scanned({"SKILL.md": HEAD, "assets/data.zip": nested(6), "assets/more.gz": gzip.compress(b"\0" * SIZE)})
    assert {finding.code for finding in report.findings} == {"SK705"}
    assert report.verdict is ScanVerdict.REVIEW


def test_a_bomb_behind_an_encoding_is_opened_a_little() -> None:
    bomb = b64encode(zlib.compress(b"curl " * (4 * SIZE))).decode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scanned({"SKILL.md": HEAD + bomb.encode()})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n" + b"\xff" * 5_000, b"\xff\xd8" + b"\xff\xe1\0\0" * 2_000, b"PK\x03\x04", b"\x7fELF"]
)
def test_broken_binaries_get_a_report(data: bytes) -> None:
    report = scanned({"SKILL.md": HEAD, "assets/a.png": data, "assets/b.bin": data})
    assert report.files == 3
