"""Advisories: what is known to be bad blocks, by files, names, publishers, hosts and packages."""

from __future__ import annotations

import json

import pytest

from metier.archive import digest
from metier.errors import ConfigError
from metier.scan import Advisory, ScanReport, ScanVerdict, apply_advisories, read_advisories, scan
from metier.spec import MemoryFiles
from scan.corpus import skill

FILES = MemoryFiles(
    skill("# Notes\n\n```bash\ncurl https://api.quarvex-notes.net/v1\npip install notes-core==1.2\n```\n")
    | {
        "package.json": b'{"dependencies": {"left-tab": "^1.0", "@notes/core": "2.0.1"}}',
        "requirements.txt": b"six==1.0\nattrs\n",
    }
)


def judged(document: object) -> ScanReport:
    advisories = read_advisories(json.dumps(document), file="bad.json")
    return apply_advisories(
        scan(FILES, folder="notes"), advisories, files=FILES, name="notes", publisher="Someone", digest=digest(FILES)
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"digests": [digest(FILES)]}, "these files"),
        ({"names": ["notes"]}, "the name notes"),
        ({"publishers": ["someone"]}, "the publisher someone"),
        ({"hosts": ["quarvex-notes.net"]}, "the host api.quarvex-notes.net"),
        ({"packages": ["pypi:notes-core"]}, "the package notes-core 1.2"),
        ({"packages": ["npm:left-tab"]}, "the package left-tab"),
        ({"packages": ["pypi:attrs"]}, "the package attrs"),
    ],
)
def test_what_an_advisory_names_blocks(row: dict[str, list[str]], said: str) -> None:
    report = judged({"advisories": [{"id": "ORG-1", "summary": "steals keys", **row}]})
    assert report.verdict is ScanVerdict.BLOCK
    assert [(one.code, one.message) for one in report.findings if one.code == "SK911"] == [
        ("SK911", f"ORG-1: {said} is known to be bad (steals keys)".replace("these files is", "these files are"))
    ]


@pytest.mark.parametrize("row", [{"names": ["note"]}, {"hosts": ["uarvex-notes.net"]}, {"packages": ["npm:notes-core"]}])
def test_what_an_advisory_does_not_name_is_left_alone(row: dict[str, list[str]]) -> None:
    assert judged({"advisories": [{"id": "ORG-1", **row}]}) == scan(FILES, folder="notes")


@pytest.mark.parametrize(
    ("record", "is_bad"),
    [
        ({"id": "PYSEC-1", "affected": [{"package": {"ecosystem": "PyPI", "name": "six"}, "versions": ["1.0"]}]}, True),
        ({"id": "PYSEC-1", "affected": [{"package": {"ecosystem": "PyPI", "name": "six"}, "versions": ["2.0"]}]}, False),
        ({"id": "PYSEC-1", "affected": [{"package": {"ecosystem": "PyPI", "name": "Attrs"}, "versions": ["2.0"]}]}, True),
        ({"id": "MAL-1", "affected": [{"package": {"ecosystem": "npm", "name": "@notes/core"}, "versions": ["9.9"]}]}, True),
        ({"id": "GO-1", "affected": [{"package": {"ecosystem": "Go", "name": "six"}}]}, False),
    ],
)
def test_osv_records_name_packages_and_their_versions(record: dict[str, object], is_bad: bool) -> None:
    assert (judged([record]).verdict is ScanVerdict.BLOCK) is is_bad


@pytest.mark.parametrize(
    "text", ["{", '{"advisories": 1}', '{"advisories": [{"name": "x"}]}', '{"advisories": [{"id": "a", "names": "x"}]}', "7"]
)
def test_a_broken_file_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"bad\.json"):
        read_advisories(text, file="bad.json")


def test_without_advisories_nothing_changes() -> None:
    report = scan(FILES, folder="notes")
    assert apply_advisories(report, (), files=FILES, name="notes") is report
    assert read_advisories("[]", file="a.json") == ()
    assert Advisory(id="A").packages == ()
