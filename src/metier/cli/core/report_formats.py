"""Reports in the forms that other programs read: SARIF for code scanning, workflow commands for GitHub's annotations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from metier import __version__
from metier.spec import CODES, Code, Problem, Report, Severity

__all__ = ["FORMATS", "as_github", "as_sarif"]

FORMATS = ("text", "json", "sarif", "github")
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def as_sarif(
    checked: Sequence[tuple[str, Report]],
    base: str,
    pages: Mapping[str, Code] = CODES,
    properties: Mapping[str, Mapping[str, object]] = {},
    about: Mapping[Problem, Mapping[str, object]] = {},
) -> str:
    """SARIF 2.1.0, one run; paths are relative to `base` where they lie below it.

    `properties` are those of each rule, `about` those of single results.
    """
    found = [(folder, problem) for folder, report in checked for problem in report]
    codes = sorted({problem.code for _, problem in found})
    rules = [
        {
            "id": code,
            "name": pages[code].name,
            "shortDescription": {"text": pages[code].name.replace("-", " ")},
            "fullDescription": {"text": pages[code].text},
            "defaultConfiguration": {"level": _SARIF_LEVELS[pages[code].strict]},
            **({"properties": properties[code]} if code in properties else {}),
        }
        for code in codes
    ]
    results = [
        {
            "ruleId": problem.code,
            "ruleIndex": codes.index(problem.code),
            "level": _SARIF_LEVELS[problem.severity],
            "message": {"text": f"{problem.message}. {problem.hint}".rstrip(". ") + "."},
            "locations": [{"physicalLocation": _location(folder, problem, base)}],
            **({"properties": about[problem]} if problem in about else {}),
        }
        for folder, problem in found
    ]
    driver = {
        "name": "metier",
        "version": __version__,
        "informationUri": "https://agentskills.io/specification",
        "rules": rules,
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def as_github(checked: Sequence[tuple[str, Report]], base: str) -> str:
    return "".join(f"{line}\n" for line in _github_lines(checked, base))


def _github_lines(checked: Sequence[tuple[str, Report]], base: str) -> Iterator[str]:
    for folder, report in checked:
        for problem in report:
            place = [f"file={_property(_relative(folder, problem.file, base))}"]
            place += [f"line={problem.line}"] if problem.line else []
            place += [f"col={problem.column}"] if problem.column else []
            place.append(f"title={_property(problem.code)}")
            message = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
            yield f"::{_GITHUB_LEVELS[problem.severity]} {','.join(place)}::{_data(message)}"


def _location(folder: str, problem: Problem, base: str) -> dict[str, object]:
    location: dict[str, object] = {"artifactLocation": {"uri": _uri(_relative(folder, problem.file, base))}}
    if problem.line:
        region = {"startLine": problem.line}
        location["region"] = {**region, "startColumn": problem.column} if problem.column else region
    return location


def _uri(path: str) -> str:
    """A path as SARIF wants it: every other character escaped, and a scheme where it is absolute."""
    quoted = quote(os.fsencode(path))
    return f"file://{quoted}" if path.startswith("/") else quoted


def _relative(folder: str, file: str, base: str) -> str:
    path = os.path.join(folder, file)
    relative = os.path.relpath(path, os.path.realpath(base))
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def _data(text: str) -> str:
    # A log is read on a terminal too, so nothing in it may move the cursor.
    text = "".join(char if char.isprintable() or char in "\r\n\t" else "\ufffd" for char in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
