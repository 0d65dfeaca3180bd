"""`metier skill validate` and `metier skill lint`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.report_formats import FORMATS, as_github, as_sarif
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import Terminal, cell_width, one_line
from metier.sources import DiskFiles
from metier.spec import (
    MAX_SKILL_FILE_BYTES,
    SKILL_FILE,
    ParseResult,
    Problem,
    Report,
    Severity,
    Verdict,
    advise,
    check,
    find_overlaps,
    parse,
    problem,
)

__all__ = ["Checked", "lint", "validate"]

Checked = tuple[str, Report]
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


@command("skill", "validate")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...")
@click.option(
    "--verdict",
    type=click.Choice([verdict.value for verdict in Verdict]),
    default=Verdict.STRICT.value,
    show_default=True,
    help="strict: the standard's text; lenient: what loads; compat: as the reference validator.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print.")
def validate(app: App, *, targets: tuple[str, ...], verdict: str, form: str) -> Result:
    """Check skills against the standard.

    Ends with 0 when every skill is valid and with 1 when one is not. Without a target it checks the current folder.
    """
    return _checked(app, targets, lambda files, folder: check(files, folder=folder, verdict=Verdict(verdict)), form, verdict)


@command("skill", "lint")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print.")
def lint(app: App, *, targets: tuple[str, ...], form: str) -> Result:
    """Check skills against the standard and good practice.

    Everything that validate says, and advice: size, broken references, descriptions that never say when, commands without a
    version. Ends with 1 when there is an error; warnings and infos are advice.
    """

    def everything(files: DiskFiles, folder: str) -> Report:
        return check(files, folder=folder) + advise(files, folder=folder)

    return _checked(app, targets, everything, form, "lint", together=True)


def _checked(
    app: App,
    targets: Sequence[str],
    judge: Callable[[DiskFiles, str], Report],
    form: str,
    verdict: str,
    *,
    together: bool = False,
) -> Result:
    checked = [(folder, judge(DiskFiles(folder), os.path.basename(folder))) for folder in folders_named(app, targets)]
    if together and len(checked) > 1:
        checked = _with_overlaps(checked)
    failed = sum(not report.ok for _, report in checked)
    data = {"verdict": verdict, "checked": len(checked), "failed": failed, "skills": [_row(*one) for one in checked]}
    text = {"sarif": as_sarif, "github": as_github}.get(form)
    return Result(
        data=data,
        lines=lambda terminal: _lines(checked, failed, terminal),
        text=text(checked, app.folder) if text else None,
        as_json=form == "json",
        status=1 if failed else 0,
    )


def _with_overlaps(checked: Sequence[Checked]) -> list[Checked]:
    """SK217 is about a set, so it can only be seen here: each of a pair is told of the other."""
    described = [(folder, manifest.description) for folder, _ in checked if (manifest := _parsed(folder).manifest) is not None]
    found: dict[str, list[Problem]] = {}
    for first, second, share in find_overlaps(described):
        for one, other in ((first, second), (second, first)):
            message = f"shares {share:.0%} of its description's words with {os.path.basename(other)!r}"
            found.setdefault(one, []).append(problem("SK217", message, hint="say in each what it is not for, or make them one"))
    return [(folder, report + Report.of(found.get(folder, ()))) for folder, report in checked]


def _parsed(folder: str) -> ParseResult:
    try:
        return parse(DiskFiles(folder).read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES))
    except (OSError, LookupError):
        return parse(b"")


def _row(folder: str, report: Report) -> dict[str, Any]:
    rows = [{slot: getattr(one, slot) for slot in one.__slots__} for one in report]
    return {"folder": folder, "ok": report.ok, "problems": rows}


def _lines(checked: Sequence[Checked], failed: int, terminal: Terminal) -> Iterator[str]:
    for folder, report in checked:
        sign = terminal.paint("✓", "green") if report.ok else terminal.paint("✗", "red")
        yield f"{sign} {terminal.paint(one_line(os.path.basename(folder)), 'bold')}  {terminal.paint(one_line(folder), 'dim')}"
        for one in report:
            yield from _problem_lines(folder, one, terminal)
    if len(checked) > 1:
        yield f"{len(checked)} checked, {failed} failed"
    if any(report.problems for _, report in checked):
        yield terminal.paint("`metier skill explain CODE` says more about a code", "dim")


def _problem_lines(folder: str, found: Problem, terminal: Terminal) -> Iterator[str]:
    severity = terminal.paint(found.severity, _STYLES[found.severity])
    yield f"  {one_line(found.where)}: {severity} {found.code}: {one_line(found.message)}"
    if found.line is not None:
        yield from _excerpt(folder, found, terminal)
    if found.hint:
        yield f"      {terminal.paint('hint:', 'cyan')} {one_line(found.hint)}"


def _excerpt(folder: str, found: Problem, terminal: Terminal) -> Iterator[str]:
    """The offending line, with a caret under the place."""
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
        # As wide as what stands before it, which in another alphabet may take two columns a letter.
        yield f"             {' ' * cell_width(cut[: column - start])}{terminal.paint('^', 'red')}"
