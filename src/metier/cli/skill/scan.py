"""`metier skill scan`: is this skill safe, and what could it do?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.report_formats import FORMATS, as_github, as_sarif
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import NotFoundError, SkillNotFoundError, UsageError
from metier.scan import RULES, Finding, ModelOpinion, ScanReport, ScanVerdict, Waiver, apply_waivers, read_waivers
from metier.scan import scan as scan_files
from metier.sources import DiskFiles
from metier.spec import Files
from metier.values import dataclass

from .explain import PAGES

__all__ = ["report_lines", "scan"]

_SIGNS = {ScanVerdict.PASS: ("✓", "green"), ScanVerdict.REVIEW: ("?", "yellow"), ScanVerdict.BLOCK: ("✗", "red")}
_LIMITS = {"block": ScanVerdict.BLOCK.rank, "review": ScanVerdict.REVIEW.rank, "never": ScanVerdict.BLOCK.rank + 1}
_MOST_SHOWN = 12
_JUDGE_HINT = "`metier skill scan NAME --judge [--model NAME]`; see docs/scan.md"


@dataclass(frozen=True, slots=True)
class _Subject:
    """A skill to be scanned: on this disk, or just brought from elsewhere."""

    name: str
    where: str
    """Its folder, or the ref it came from."""
    files: Files


@dataclass(frozen=True, slots=True)
class _Scanned:
    subject: _Subject
    report: ScanReport


@command("skill", "scan")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH|REF]...")
@click.option("--installed", is_flag=True, help="Scan every skill on this machine.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print.")
@click.option(
    "--fail-on", type=click.Choice(list(_LIMITS)), default="block", show_default=True, help="End with 1 from this verdict on."
)
@click.option("--waivers", "waiver_file", metavar="FILE", help="Findings to live with: rule, path, reason, expiry (TOML).")
@click.option("--offline", is_flag=True, help="For a REF: use the cache, and ask nobody.")
@click.option("--judge", is_flag=True, help="Have a model read it too; it can add findings and take none away.")
@click.option("--model", metavar="NAME", help="With --judge: this model instead of the one of your settings.")
def scan(
    app: App, *, targets: tuple[str, ...], installed: bool, form: str, fail_on: str, waiver_file: str | None, offline: bool,
    judge: bool, model: str | None,
) -> Result:  # fmt: skip
    """Say what a skill could do and what looks bad about it, with a verdict: pass, review or block.

    Nothing is run; only a REF (`owner/repo`, an address, an archive; see `metier skill install`) is fetched, into memory. The
    same files always give the same answer. Ends with 1 when a verdict reaches --fail-on. Without a target it scans the
    current folder. With --judge the skill's text is sent to a model, and its findings are marked as the model's.
    """
    if (model or judge) and (offline or not judge):
        raise UsageError(
            "--model is for --judge" if model and not judge else "--judge asks a model, and --offline nobody", hint=_JUDGE_HINT
        )
    waivers = _waivers(app, waiver_file)
    subjects = _installed(app) if installed else []
    if targets or not installed:
        subjects += [subject for target in targets or (".",) for subject in _named(app, target, offline=offline)]
    today = date.today()  # noqa: DTZ011 - a waiver ends with the day of whoever runs this
    subjects = list({subject.where: subject for subject in subjects}.values())
    reports, notes = _reports(app, subjects, judge=judge, model=model)
    scanned = [
        _Scanned(one, apply_waivers(report, waivers, skill=one.name, today=today))
        for one, report in zip(subjects, reports, strict=True)
    ]
    failed = sum(one.report.verdict.rank >= _LIMITS[fail_on] for one in scanned)
    counts = {str(verdict): sum(one.report.verdict is verdict for one in scanned) for verdict in ScanVerdict}
    return Result(
        data={"scanned": len(scanned), "failed": failed, **counts, "skills": [_row(one) for one in scanned]},
        lines=lambda terminal: _lines(scanned, counts, terminal),
        text=_text(scanned, form, app.folder),
        as_json=form == "json",
        notes=notes,
        status=1 if failed else 0,
    )


def _reports(
    app: App, subjects: Sequence[_Subject], *, judge: bool, model: str | None
) -> tuple[Sequence[ScanReport], tuple[str, ...]]:
    """What the rules say of each, and a model where it was asked for; and what went wrong with that."""
    reports = [scan_files(one.files, folder=one.name) for one in subjects]
    if not judge:
        return reports, ()
    # Imported here: a plain scan needs no loop, no HTTP and no cache.
    from metier.app.model_judge import JudgeCase
    from metier.cli.core.models import judge_reports

    cases = [JudgeCase(one.name, one.files, report) for one, report in zip(subjects, reports, strict=True)]
    return judge_reports(app, cases, model)


def _on_disk(folder: str) -> _Subject:
    return _Subject(os.path.basename(folder), folder, DiskFiles(folder))


def _installed(app: App) -> list[_Subject]:
    return [_on_disk(folder) for folder in dict.fromkeys(entry.folder for entry in app.catalog.entries)]


def _named(app: App, target: str, *, offline: bool) -> list[_Subject]:
    """What is here is scanned as it is here; what is not is fetched, if it can be."""
    try:
        return [_on_disk(folder) for folder in folders_named(app, [target])]
    except NotFoundError as error:
        return _fetched(app, target, offline=offline, missing=error)


def _fetched(app: App, target: str, *, offline: bool, missing: NotFoundError) -> list[_Subject]:
    # Imported here: fetching brings git and HTTP along, and most scans are of what is on this disk.
    from metier.install.fetch.fetch import fetch
    from metier.install.refs.parsing import parse_ref
    from metier.install.refs.ref_types import LocalName, LocalPath

    from .install_common import access_of, fetch_progress

    access = access_of(app, offline=offline, headers=(), insecure_http=False)
    try:
        ref = parse_ref(target, aliases=tuple({"r9s", *(source.name for source in access.sources)}))
    except SkillNotFoundError:
        raise missing from None
    if isinstance(ref, LocalName | LocalPath):
        raise missing
    with fetch_progress() as progress:
        fetched = fetch(ref, access, progress=progress)
    return [_Subject(one.name, f"{ref.text}:{one.origin.path or one.name}", one.files) for one in fetched.skills]


def _waivers(app: App, file: str | None) -> tuple[Waiver, ...]:
    if file is None:
        return ()
    try:
        text = Path(app.folder, os.path.expanduser(file)).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {file!r}", hint="see docs/scan.md for the form of a waiver") from None
    return read_waivers(text, file=file)


def _text(scanned: Sequence[_Scanned], form: str, base: str) -> str | None:
    reports = [(one.subject.where, one.report.report) for one in scanned]
    if form == "sarif":
        sources = {finding.problem: {"source": _source(finding)} for one in scanned for finding in one.report.findings}
        return as_sarif(reports, base, PAGES, _PROPERTIES, sources)
    return as_github(reports, base) if form == "github" else None


# What GitHub's code scanning sorts by.
_SECURITY_SEVERITY = {ScanVerdict.PASS: "3.0", ScanVerdict.REVIEW: "6.0", ScanVerdict.BLOCK: "9.0"}
_PROPERTIES = {
    rule.code: {
        "tags": ["security", rule.category, *filter(None, (rule.owasp, rule.aitech))],
        "precision": rule.confidence,
        "security-severity": _SECURITY_SEVERITY[rule.verdict],
    }
    for rule in RULES.values()
}


def _row(one: _Scanned) -> dict[str, Any]:
    report, opinion = one.report, one.report.opinion
    return {
        "name": one.subject.name,
        "folder": one.subject.where,
        "verdict": report.verdict,
        "reach": report.reach,
        "files": report.files,
        "capabilities": {name: list(getattr(report.capabilities, name)) for name in report.capabilities.__slots__},
        "findings": [_finding_row(finding) for finding in report.findings],
        "judge": _judge_row(opinion) if opinion else None,
    }


def _finding_row(finding: Finding) -> dict[str, Any]:
    rule = finding.rule
    return {
        "rule": finding.code, "category": rule.category, "severity": finding.severity, "confidence": finding.confidence,
        "reach": finding.reach, "message": finding.message, "file": finding.file, "line": finding.line,
        "column": finding.column, "excerpt": finding.excerpt, "why": rule.why, "hint": rule.hint, "owasp": rule.owasp,
        "aitech": rule.aitech, "waived": finding.waived or None, "source": _source(finding),
    }  # fmt: skip


def _judge_row(opinion: ModelOpinion) -> dict[str, Any]:
    return {
        "model": opinion.model, "verdict": opinion.verdict, "findings": len(opinion.findings), "discarded": opinion.discarded,
    }  # fmt: skip


def _source(finding: Finding) -> str:
    return f"model {finding.by}" if finding.by else "rules"


def _lines(scanned: Sequence[_Scanned], counts: dict[str, int], terminal: Terminal) -> Iterator[str]:
    for one in scanned:
        yield from report_lines(one.subject.name, one.subject.where, one.report, terminal)
    if len(scanned) > 1:
        yield f"{len(scanned)} scanned: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    if any(one.report.findings for one in scanned):
        yield terminal.paint("`metier skill explain CODE` says more about a code", "dim")


def report_lines(name: str, where: str, report: ScanReport, terminal: Terminal) -> Iterator[str]:
    """One skill: its verdict, what it could do, and the findings that count."""
    sign, style = _SIGNS[report.verdict]
    bold, dim = terminal.paint(one_line(name), "bold"), terminal.paint(one_line(where), "dim")
    yield f"{terminal.paint(sign, style)} {bold}  {terminal.paint(report.verdict, style)}  {dim}"
    for line in report.capabilities.lines():
        yield f"  {terminal.paint(one_line(line), 'dim')}"
    if report.opinion is not None:
        yield f"  {terminal.paint(one_line(_said(report.opinion)), 'dim')}"
    yield from _finding_lines(report, terminal)


def _said(opinion: ModelOpinion) -> str:
    found = len(opinion.findings)
    thrown = f", {opinion.discarded} thrown out: not in the files" if opinion.discarded else ""
    return f"judge: model {opinion.model} says {opinion.verdict}; {found} finding{'s' * (found != 1)}{thrown}"


def _finding_lines(report: ScanReport, terminal: Terminal) -> Iterator[str]:
    grave = [finding for finding in report.findings if finding.verdict is not ScanVerdict.PASS]
    for finding in grave[:_MOST_SHOWN]:
        severity = terminal.paint(finding.severity, _SIGNS[finding.verdict][1])
        yield f"  {one_line(finding.problem.where)}: {severity} {finding.code}: {one_line(finding.message)}"
        if finding.excerpt:
            yield f"      {terminal.paint('|', 'dim')} {one_line(finding.excerpt)}"
        yield f"      {terminal.paint('hint:', 'cyan')} {one_line(finding.rule.hint)}"
    if len(grave) > _MOST_SHOWN:
        yield f"  and {len(grave) - _MOST_SHOWN} more; --format json has them all"
    waived = sum(bool(finding.waived) for finding in report.findings)
    notes = len(report.findings) - len(grave) - waived
    if notes or waived:
        kinds = ((notes, "note" if notes == 1 else "notes"), (waived, "waived"))
        said = [f"{number} {word}" for number, word in kinds if number]
        yield f"  {terminal.paint(' and '.join(said) + '; --format json has them', 'dim')}"
