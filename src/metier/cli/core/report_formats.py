"""Reports of problems: as text for people, as JSON, as SARIF for code scanning, and as workflow commands for GitHub."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from metier import __version__
from metier.app import App
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, cell_width, one_line
from metier.sources import DiskFiles, replace_bytes
from metier.spec import CODES, Code, Problem, Report, Severity

__all__ = ["FORMATS", "CheckedSkill", "as_github", "as_sarif", "report_result", "write_report"]

FORMATS = ("text", "json", "sarif", "github")
CheckedSkill = tuple[str, Report]
"""The path of a skill's folder, and its problems."""
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def write_report(app: App, file: str, text: str) -> None:
    """Writes a report to a file that the user named; in the project, no link may lead out of it."""
    path = os.path.join(app.folder, file)
    replace_bytes(path, text.encode("utf-8", "replace"), mode=0o644, inside=app.paths.inside(path))


def report_result(checked: Sequence[CheckedSkill], *, verdict: str, form: str, base: str) -> Result:
    """Returns the Result of `validate` and `lint` in one of the FORMATS. Paths below `base` are relative to it."""
    failed = sum(not report.ok for _, report in checked)
    data = {"verdict": verdict, "checked": len(checked), "failed": failed, "skills": [_row(*one) for one in checked]}
    text = {"sarif": as_sarif, "github": as_github}.get(form)
    return Result(
        data=data,
        lines=lambda terminal: _lines(checked, failed, terminal),
        text=text(checked, base) if text else None,
        as_json=form == "json",
        status=1 if failed else 0,
    )


def as_sarif(
    checked: Sequence[CheckedSkill],
    base: str,
    pages: Mapping[str, Code] = CODES,
    properties: Mapping[str, Mapping[str, object]] = {},
    about: Mapping[Problem, Mapping[str, object]] = {},
) -> str:
    """Returns SARIF 2.1.0 with one run. `properties` are those of each rule, `about` those of single results."""
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


def as_github(checked: Sequence[CheckedSkill], base: str) -> str:
    return "".join(f"{line}\n" for line in _github_lines(checked, base))


def _github_lines(checked: Sequence[CheckedSkill], base: str) -> Iterator[str]:
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
    """Returns a path as SARIF wants it: percent-encoded, and with a scheme if it is absolute."""
    quoted = quote(os.fsencode(path))
    return f"file://{quoted}" if path.startswith("/") else quoted


def _relative(folder: str, file: str, base: str) -> str:
    path = os.path.join(folder, file)
    relative = os.path.relpath(path, os.path.realpath(base))
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


def _data(text: str) -> str:
    # Logs are read on terminals too, so control characters are replaced.
    text = "".join(char if char.isprintable() or char in "\r\n\t" else "\ufffd" for char in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _row(folder: str, report: Report) -> dict[str, Any]:
    rows = [{slot: getattr(one, slot) for slot in one.__slots__} for one in report]
    return {"folder": folder, "ok": report.ok, "problems": rows}


def _lines(checked: Sequence[CheckedSkill], failed: int, terminal: Terminal) -> Iterator[str]:
    for folder, report in checked:
        sign = terminal.paint("✓", "green") if report.ok else terminal.paint("✗", "red")
        yield f"{sign} {terminal.paint(one_line(os.path.basename(folder)), 'bold')}  {terminal.paint(one_line(folder), 'dim')}"
        for one in report:
            yield from _problem_lines(folder, one, terminal)
    if len(checked) > 1:
        yield f"{len(checked)} checked, {failed} failed"
    if any(report.problems for _, report in checked):
        yield terminal.paint("Run `metier skill explain CODE` for details about a code", "dim")


def _problem_lines(folder: str, found: Problem, terminal: Terminal) -> Iterator[str]:
    severity = terminal.paint(found.severity, _STYLES[found.severity])
    yield f"  {one_line(found.where)}: {severity} {found.code}: {one_line(found.message)}"
    if found.line is not None:
        yield from _excerpt(folder, found, terminal)
    if found.hint:
        yield f"      {terminal.paint('hint:', 'cyan')} {one_line(found.hint)}"


def _excerpt(folder: str, found: Problem, terminal: Terminal) -> Iterator[str]:
    """Yields the line with the problem, and a caret below the column."""
    try:
        text = DiskFiles(folder).read(found.file, limit=1 << 20).decode("utf-8", "replace")
    except (OSError, LookupError):
        return
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not found.line or found.line > len(lines):
        return
    line = "".join(char if char.isprintable() else " " for char in lines[found.line - 1].removeprefix("\ufeff"))
    column = (found.column or 1) - 1
    width = max(20, (terminal.width or 100) - 12)
    start = max(0, column - width // 2) if len(line) > width else 0
    cut = line[start : start + width]
    yield f"      {terminal.paint(f'{found.line:>4} |', 'dim')} {cut}"
    if found.column and column - start <= len(cut):
        # Measured in terminal cells: a letter may take two columns.
        yield f"             {' ' * cell_width(cut[: column - start])}{terminal.paint('^', 'red')}"
