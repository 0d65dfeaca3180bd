"""Reports for other programs: SARIF 2.1.0 and GitHub's workflow commands."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from cli.shell import Shell
from metier import __version__
from metier.spec import CODES


@pytest.fixture
def bad(shell: Shell) -> Shell:
    root = shell.project / "my skills"
    shell.skill("pdf", root=root, head="unknown: key\nother: 1")
    shell.skill("50%,a:b", root=root, data=b"nothing")
    shell.skill("vague", root=root, description="Does things.")
    return shell


def sarif(shell: Shell, *words: str, **options: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(shell("skill", *words, "--format", "sarif", **options).out)
    return document


@pytest.mark.parametrize("command", ["validate", "lint"])
def test_sarif_has_the_shape_that_code_scanning_reads(bad: Shell, command: str) -> None:
    document = sarif(bad, command, ".")
    assert document["$schema"].endswith("sarif-2.1.0.json")
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("metier", __version__)
    assert urlsplit(driver["informationUri"]).scheme == "https"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"] == CODES[rule["id"]].text
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert run["results"]
    assert {result["ruleId"] for result in run["results"]} == set(ids)
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"].endswith(".")
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@/%-]+", uri), uri
        assert (bad.project / unquote(uri)).exists(), uri
        region = physical.get("region", {"startLine": 1})
        assert region["startLine"] >= 1
        assert region.get("startColumn", 1) >= 1


def test_sarif_without_problems_is_a_run_without_results(shell: Shell) -> None:
    shell.skill("pdf", root=shell.project)
    (run,) = sarif(shell, "validate", ".")["runs"]
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])


def test_a_file_outside_the_folder_has_an_absolute_address(bad: Shell) -> None:
    (run,) = sarif(bad, "validate", str(bad.project / "my skills/pdf"), folder=bad.bin)["runs"]
    uri = urlsplit(run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
    assert (uri.scheme, unquote(uri.path)) == ("file", f"{bad.project}/my skills/pdf/SKILL.md")


def test_githubs_annotations_escape_what_their_format_uses(bad: Shell) -> None:
    ran = bad("skill", "validate", ".", "--format", "github")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"::(error|warning|notice) file=[^,:]+(,line=\d+)?(,col=\d+)?,title=SK\d{3}::.+", line), line
    assert any("my skills/50%25%2Ca%3Ab/SKILL.md" in line for line in lines)
    assert any("file=my skills/pdf/SKILL.md,line=4,col=1,title=SK" in line for line in lines)


def test_format_json_is_the_envelope(bad: Shell) -> None:
    ran = bad("skill", "validate", ".", "--format", "json")
    assert ran.envelope["command"] == "skill validate"
    assert ran.raw == bad("skill", "validate", ".", "--json").raw
    assert ran.data["failed"] == 2
