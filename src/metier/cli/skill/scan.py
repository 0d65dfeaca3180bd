"""`metier skill scan`: the verdict, capabilities and findings of skills."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skills_or_paths
from metier.cli.core.bulk_options import jobs_option, journal_option, on_option, opened_journal
from metier.cli.core.dispatch import command
from metier.cli.core.report_formats import FORMATS, as_github, as_sarif
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.errors import NotFoundError, SkillNotFoundError, UsageError
from metier.install import ScannedSkill, UnscannedSkill, scan_folders, scan_ref
from metier.runtime.behaviour import BehaviourReport, with_behaviour
from metier.scan import (
    RULES,
    Finding,
    ModelOpinion,
    ScanReport,
    ScanVerdict,
    Waiver,
    apply_waivers,
    read_waivers,
)
from metier.spec import Capabilities
from metier.values import replace

from .behaviour_lines import behaviour_lines, behaviour_row
from .explain import PAGES

__all__ = ["capability_row", "report_lines", "scan", "scan_row"]

_SIGNS = {ScanVerdict.PASS: ("✓", "green"), ScanVerdict.REVIEW: ("?", "yellow"), ScanVerdict.BLOCK: ("✗", "red")}
_LIMITS = {"block": ScanVerdict.BLOCK.rank, "review": ScanVerdict.REVIEW.rank, "never": ScanVerdict.BLOCK.rank + 1}
_MOST_SHOWN = 12
_JUDGE_HINT = "`metier skill scan NAME --judge [--model NAME]`; see docs/scan.md"


@command("skill", "scan")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH|REF]...", shell_complete=skills_or_paths)
@click.option("--installed", is_flag=True, help="Scan every skill on this machine.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="The output format.")
@click.option(
    "--fail-on", type=click.Choice(list(_LIMITS)), default="block", show_default=True, help="Exit with 1 from this verdict on."
)
@click.option("--waivers", "waiver_file", metavar="FILE", help="Accepted findings: rule, path, reason, expiry (TOML).")
@click.option("--offline", is_flag=True, help="Use only the cache, for a REF and for advisories.")
@click.option("--run", "runs", is_flag=True, help="Also run it in the sandbox, without network, and report what it does.")
@click.option("--judge", is_flag=True, help="Ask a model too; it can only add findings.")
@click.option("--model", metavar="NAME", help="With --judge: use this model instead of the one in your settings.")
@jobs_option
@on_option
@journal_option
def scan(
    app: App, *, targets: tuple[str, ...], installed: bool, form: str, fail_on: str, waiver_file: str | None, offline: bool,
    runs: bool, judge: bool, model: str | None, jobs: int | None, where: str | None, journal_file: str | None,
) -> Result:  # fmt: skip
    """Scan skills for security problems, with a verdict: pass, review or block.

    A REF (`owner/repo`, a URL, an archive; see `metier skill install`) is fetched into memory. Nothing is run, and the same
    files always give the same result. With --run each script and code block also runs in the sandbox, in a made-up home and
    on a network that leads nowhere; this needs isolation level namespace. Exits with 1 when a verdict reaches --fail-on.
    Without a target it scans the current folder. With --judge the skill's text is sent to a model, and its findings are
    marked as the model's. With --jobs, --on or --journal local skills are scanned in several processes or on a Ray cluster, and
    an interrupted scan can be resumed.
    """
    if model and not judge:
        raise UsageError("--model needs --judge", hint=_JUDGE_HINT)
    if judge and offline:
        raise UsageError("--judge needs a model and cannot be used with --offline", hint=_JUDGE_HINT)
    waivers = _waivers(app, waiver_file)
    app.advisories.load(offline=offline)
    folders, fetched = _targets(app, targets or (() if installed else (".",)), offline=offline)
    if installed:
        folders = [*(entry.folder for entry in app.catalog.entries), *folders]
    local, failures = _scan_local(app, list(dict.fromkeys(folders)), jobs, where, journal_file)
    skills = list({skill.where: skill for skill in (*local, *fetched)}.values())
    notes = tuple(f"{one.name} was not scanned: {one.reason}" for one in failures)
    if judge:
        skills, more = _judge(app, skills, model)
        notes += more
    notes += app.advisories.notes
    skills = [replace(one, report=app.advisories.check(one)) for one in skills]
    seen = _observe(skills) if runs else {}
    skills = [replace(one, report=with_behaviour(one.report, seen[one.where])) if runs else one for one in skills]
    today = date.today()  # noqa: DTZ011 - a waiver ends with the user's local day
    skills = [replace(one, report=apply_waivers(one.report, waivers, skill=one.name, today=today)) for one in skills]
    failed = sum(one.report.verdict.rank >= _LIMITS[fail_on] for one in skills)
    counts = {str(verdict): sum(one.report.verdict is verdict for one in skills) for verdict in ScanVerdict}
    return Result(
        data={
            "scanned": len(skills),
            "failed": failed,
            "not_scanned": [{"name": one.name, "folder": one.where, "reason": one.reason} for one in failures],
            **counts,
            "skills": [scan_row(one, seen.get(one.where)) for one in skills],
        },
        lines=lambda terminal: _lines(skills, counts, terminal, seen),
        text=_text(skills, form, app.folder),
        as_json=form == "json",
        notes=notes,
        status=1 if failed or failures else 0,
    )


def _scan_local(
    app: App, folders: list[str], jobs: int | None, where: str | None, journal_file: str | None
) -> tuple[list[ScannedSkill], list[UnscannedSkill]]:
    if jobs is None and where is None and journal_file is None:
        return scan_folders(folders)
    # Imported here: a plain scan needs none of it.
    from metier.bulk import open_map
    from metier.cli.core.progress import progress

    on = open_map(where or "local", jobs=jobs)
    with progress("scanning", len(folders)) as advance, opened_journal(app, journal_file, ScanReport) as journal:
        return scan_folders(folders, on=on, journal=journal, advance=advance)


def _targets(app: App, targets: Sequence[str], *, offline: bool) -> tuple[list[str], list[ScannedSkill]]:
    """Returns the folders of local skills; fetches and scans any other ref."""
    folders: list[str] = []
    fetched: list[ScannedSkill] = []
    for target in targets:
        try:
            folders += folders_named(app, [target])
        except NotFoundError as missing:
            fetched += _scan_fetched(app, target, missing, offline=offline)
    return folders, fetched


def _scan_fetched(app: App, target: str, missing: NotFoundError, *, offline: bool) -> Sequence[ScannedSkill]:
    # Imported here: refs and their access are not needed for a local skill.
    from metier.install import LocalName, LocalPath, parse_source_ref

    from .install_common import access_of, fetch_progress

    access = access_of(app, offline=offline, headers=(), insecure_http=False)
    try:
        ref = parse_source_ref(target, access)
    except SkillNotFoundError:
        raise missing from None
    if isinstance(ref, LocalName | LocalPath):
        raise missing
    with fetch_progress() as progress:
        return scan_ref(ref, access, progress=progress)


def _observe(skills: Sequence[ScannedSkill]) -> dict[str, BehaviourReport]:
    # Imported here: a plain scan needs neither sandbox nor event loop.
    import asyncio

    from metier.cli.core.progress import progress
    from metier.runtime.behaviour import observe_skill

    seen = {}
    with progress("running", len(skills)) as advance:
        for one in skills:
            seen[one.where] = asyncio.run(observe_skill(one.files, one.name))
            advance(1)
    return seen


def _judge(app: App, skills: Sequence[ScannedSkill], model: str | None) -> tuple[list[ScannedSkill], tuple[str, ...]]:
    # Imported here: a plain scan needs no event loop, HTTP or cache.
    from metier.app import JudgeCase
    from metier.cli.core.models import judge_reports

    reports, notes = judge_reports(app, [JudgeCase(one.name, one.files, one.report) for one in skills], model)
    return [replace(one, report=report) for one, report in zip(skills, reports, strict=True)], notes


def _waivers(app: App, file: str | None) -> tuple[Waiver, ...]:
    if file is None:
        return ()
    try:
        text = Path(app.folder, os.path.expanduser(file)).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {file!r}", hint="see docs/scan.md for the format of waivers") from None
    return read_waivers(text, file=file)


def _text(skills: Sequence[ScannedSkill], form: str, base: str) -> str | None:
    reports = [(one.where, one.report.report) for one in skills]
    if form == "sarif":
        sources = {finding.problem: {"source": _source(finding)} for one in skills for finding in one.report.findings}
        return as_sarif(reports, base, PAGES, _PROPERTIES, sources)
    return as_github(reports, base) if form == "github" else None


# GitHub's code scanning sorts by this.
_SECURITY_SEVERITY = {ScanVerdict.PASS: "3.0", ScanVerdict.REVIEW: "6.0", ScanVerdict.BLOCK: "9.0"}
_PROPERTIES = {
    rule.code: {
        "tags": ["security", rule.category, *filter(None, (rule.owasp, rule.ast10, rule.aitech))],
        "precision": rule.confidence,
        "security-severity": _SECURITY_SEVERITY[rule.verdict],
    }
    for rule in RULES.values()
}


def capability_row(capabilities: Capabilities) -> dict[str, list[str]]:
    """Returns the JSON of a list. `network` and `secrets` are the earlier names of `hosts` and `variables`."""
    return {**capabilities.row(), "network": list(capabilities.hosts), "secrets": list(capabilities.variables)}


def scan_row(one: ScannedSkill, seen: BehaviourReport | None = None) -> dict[str, Any]:
    """Returns the JSON of one report."""
    report = one.report
    return {
        "name": one.name,
        "folder": one.where,
        "verdict": report.verdict,
        "reach": report.reach,
        "files": report.files,
        "capabilities": capability_row(report.capabilities),
        "findings": [_finding_row(finding) for finding in report.findings],
        "judge": _judge_row(report, report.opinion) if report.opinion else None,
        "behaviour": behaviour_row(seen) if seen else None,
    }


def _finding_row(finding: Finding) -> dict[str, Any]:
    rule = finding.rule
    return {
        "rule": finding.code, "category": rule.category, "severity": finding.severity, "confidence": finding.confidence,
        "reach": finding.reach, "message": finding.message, "file": finding.file, "line": finding.line,
        "column": finding.column, "excerpt": finding.excerpt, "why": rule.why, "hint": rule.hint, "owasp": rule.owasp,
        "ast10": rule.ast10, "aitech": rule.aitech, "waived": finding.waived or None, "source": _source(finding),
    }  # fmt: skip


def _judge_row(report: ScanReport, opinion: ModelOpinion) -> dict[str, Any]:
    return {
        "model": opinion.model, "verdict": opinion.verdict, "findings": len(opinion.findings), "discarded": opinion.discarded,
        "rules": report.rules_verdict, "disputed": report.is_disputed,
    }  # fmt: skip


def _source(finding: Finding) -> str:
    if finding.by:
        return f"model {finding.by}"
    return "run" if finding.rule.category == "observed" else "rules"


def _lines(
    skills: Sequence[ScannedSkill], counts: dict[str, int], terminal: Terminal, seen: Mapping[str, BehaviourReport]
) -> Iterator[str]:
    for one in skills:
        yield from report_lines(one.name, one.where, one.report, terminal, seen.get(one.where))
    if len(skills) > 1:
        yield f"{len(skills)} scanned: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    if any(one.report.findings for one in skills):
        yield terminal.paint("Run `metier skill explain CODE` to explain a code", "dim")


def report_lines(
    name: str, where: str, report: ScanReport, terminal: Terminal, seen: BehaviourReport | None = None
) -> Iterator[str]:
    """Yields the verdict, capabilities, behaviour and findings of one skill."""
    sign, style = _SIGNS[report.verdict]
    bold, dim = terminal.paint(one_line(name), "bold"), terminal.paint(one_line(where), "dim")
    yield f"{terminal.paint(sign, style)} {bold}  {terminal.paint(report.verdict, style)}  {dim}"
    for line in report.capabilities.lines():
        yield f"  {terminal.paint(one_line(line), 'dim')}"
    if report.opinion is not None:
        yield f"  {terminal.paint(one_line(_opinion_line(report, report.opinion)), 'dim')}"
    if seen is not None:
        yield from behaviour_lines(seen, terminal)
    yield from _finding_lines(report, terminal)


def _opinion_line(report: ScanReport, opinion: ModelOpinion) -> str:
    found = len(opinion.findings)
    discarded = f", {opinion.discarded} discarded: not in the files" if opinion.discarded else ""
    rules = f", but the rules say {report.rules_verdict}" if report.is_disputed else ""
    return f"judge: model {opinion.model} says {opinion.verdict}{rules}; {plural(found, 'finding')}{discarded}"


def _finding_lines(report: ScanReport, terminal: Terminal) -> Iterator[str]:
    severe = [finding for finding in report.findings if finding.verdict is not ScanVerdict.PASS]
    for finding in severe[:_MOST_SHOWN]:
        severity = terminal.paint(finding.severity, _SIGNS[finding.verdict][1])
        yield f"  {one_line(finding.problem.where)}: {severity} {finding.code}: {one_line(finding.message)}"
        if finding.excerpt:
            yield f"      {terminal.paint('|', 'dim')} {one_line(finding.excerpt)}"
        yield f"      {terminal.paint('hint:', 'cyan')} {one_line(finding.rule.hint)}"
    if len(severe) > _MOST_SHOWN:
        yield f"  and {len(severe) - _MOST_SHOWN} more; use --format json to see all"
    waived = sum(bool(finding.waived) for finding in report.findings)
    notes = len(report.findings) - len(severe) - waived
    if notes or waived:
        counts = [*([plural(notes, "note")] if notes else []), *([f"{waived} waived"] if waived else [])]
        yield f"  {terminal.paint(' and '.join(counts) + '; use --format json to see them', 'dim')}"
