"""`metier skill audit`: what the skills on this machine can do, what they did, and which are unused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.install import ScannedSkill, scan_folder
from metier.runtime import Usage
from metier.scan import ScanVerdict
from metier.values import dataclass

__all__ = ["audit"]

_KINDS = ("network", "secrets", "writes", "processes", "reads")
"""The capabilities, those with the widest reach first."""
_SIGNS = {ScanVerdict.PASS: ("✓", "green"), ScanVerdict.REVIEW: ("?", "yellow"), ScanVerdict.BLOCK: ("✗", "red")}
_MOST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedSkill:
    scanned: ScannedSkill
    source: str
    usage: Usage
    last_used: str = ""
    """The last day with an activation, a read or a run; empty if there was none."""

    @property
    def capabilities(self) -> dict[str, tuple[str, ...]]:
        found = {kind: tuple(getattr(self.scanned.report.capabilities, kind)) for kind in _KINDS}
        return {kind: values for kind, values in found.items() if values}

    @property
    def order(self) -> tuple[int, int, str]:
        """Those with a worse verdict and with more kinds of capabilities come first."""
        return (-self.scanned.report.verdict.rank, -len(self.capabilities), self.scanned.name)


@command("skill", "audit")
@click.option("--unused", is_flag=True, help="Only skills without use in metier.")
def audit(app: App, *, unused: bool) -> Result:
    """Show what each skill on this machine can do, and what it did.

    The capabilities are read from its files: hosts, secrets, files outside of it, programs. What it did is from the sessions
    of metier: activations, scripts and refusals. Nothing is run; `metier skill scan NAME --run` does that. Skills of other
    agents' sessions are in `metier stats`.
    """
    skills = sorted(_audited(app), key=lambda each: each.order)
    shown = [each for each in skills if not (unused and each.last_used)]
    return Result(
        data={"skills": [_row(each) for each in shown], "unused": [each.scanned.name for each in skills if not each.last_used]},
        lines=lambda terminal: _lines(shown, terminal),
        pages=True,
    )


def _audited(app: App) -> Iterator[AuditedSkill]:
    used: dict[str, Usage] = {}
    last: dict[str, str] = {}
    for row in app.sessions.store.usage():
        used[row.skill] = used.get(row.skill, Usage()) + row.usage
        last[row.skill] = max(last.get(row.skill, ""), row.day)
    seen = set()
    for entry in app.catalog.entries:
        if entry.folder not in seen:
            seen.add(entry.folder)
            yield AuditedSkill(
                scanned=scan_folder(entry.folder),
                source=str(entry.source),
                usage=used.get(entry.name, Usage()),
                last_used=last.get(entry.name, ""),
            )


def _row(each: AuditedSkill) -> dict[str, Any]:
    usage = each.usage
    return {
        "name": each.scanned.name,
        "folder": each.scanned.where,
        "source": each.source,
        "verdict": each.scanned.report.verdict,
        "capabilities": {kind: list(values) for kind, values in each.capabilities.items()},
        "activations": usage.activations,
        "runs": usage.runs,
        "failures": usage.failures,
        "refusals": usage.refusals,
        "last_used": each.last_used or None,
    }


def _lines(skills: list[AuditedSkill], terminal: Terminal) -> Iterator[str]:
    for each in skills:
        sign, style = _SIGNS[each.scanned.report.verdict]
        name = terminal.paint(one_line(each.scanned.name), "bold")
        yield f"{terminal.paint(sign, style)} {name}  {terminal.paint(each.source, 'dim')}  {_deeds(each)}"
        for kind, values in each.capabilities.items():
            more = f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
            yield f"    {terminal.paint(f'{kind}:', 'dim')} {one_line(', '.join(values[:_MOST]))}{more}"
        if not each.capabilities:
            yield f"    {terminal.paint('text only', 'dim')}"
    if not skills:
        yield "No skills to show"
        return
    idle = sum(not each.last_used for each in skills)
    yield terminal.paint(f"{plural(len(skills), 'skill')}, {idle} unused; `metier skill scan NAME --run` runs one", "dim")


def _deeds(each: AuditedSkill) -> str:
    if not each.last_used:
        return "not used"
    usage = each.usage
    parts = [plural(usage.activations, "activation")] if usage.activations else []
    parts += [plural(usage.runs, "script run")] if usage.runs else []
    parts += [plural(usage.refusals, "refusal")] if usage.refusals else []
    return f"{', '.join(parts) or 'read'}, last {_ago(each.last_used)}"


def _ago(day: str) -> str:
    days = (datetime.fromtimestamp(time.time(), UTC).date() - datetime.fromisoformat(day).date()).days
    return "today" if days <= 0 else f"{plural(days, 'day')} ago"
