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
from metier.runtime import CapabilityList, PastAction, PastActionKind, Usage
from metier.scan import ScanVerdict
from metier.spec import Capabilities
from metier.values import dataclass, replace

from .install_common import enumerated
from .scan import capability_row

__all__ = ["audit"]

_SIGNS = {ScanVerdict.PASS: ("✓", "green"), ScanVerdict.REVIEW: ("?", "yellow"), ScanVerdict.BLOCK: ("✗", "red")}

_DEEDS = {
    "contacted": PastActionKind.HOST,
    "ran": PastActionKind.COMMAND,
    "used files": PastActionKind.FILE,
    "was refused": PastActionKind.DENIED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedSkill:
    scanned: ScannedSkill
    source: str
    usage: Usage
    last_used: str = ""
    """The last day with an activation, a read or a run; empty if there was none."""
    deeds: tuple[PastAction, ...] = ()
    """Its actions in sessions."""
    limit: CapabilityList | None = None
    """The list that it is held to; None if it was not installed."""

    @property
    def capabilities(self) -> Capabilities:
        return self.limit.listed if self.limit else self.scanned.report.capabilities

    @property
    def unlisted(self) -> Capabilities:
        """Its present capabilities beyond the list that it is held to."""
        return self.scanned.report.capabilities.beyond(self.limit.listed) if self.limit else Capabilities()

    @property
    def known_bad(self) -> tuple[str, ...]:
        """The messages of the advisories that name it."""
        return tuple(one.message for one in self.scanned.report.findings if one.code == "SK911")

    @property
    def order(self) -> tuple[int, int, str]:
        """Those with a worse verdict and with more kinds of capabilities come first."""
        return (-self.scanned.report.verdict.rank, -len(self.capabilities.lines()), self.scanned.name)


@command("skill", "audit")
@click.option("--unused", is_flag=True, help="Only skills without use in metier.")
def audit(app: App, *, unused: bool) -> Result:
    """Show what each skill on this machine can do, and what it did.

    An installed skill is shown with the list of its lock, to which it is held; any other with what its files do. What it did
    is from the sessions of metier: activations, scripts, hosts, commands, files, refusals. Nothing is run; `metier skill scan
    NAME --run` does that. Skills of other agents' sessions are in `metier stats`.
    """
    skills = sorted(_audited(app), key=lambda each: each.order)
    shown = [each for each in skills if not (unused and each.last_used)]
    return Result(
        data={"skills": [_row(each) for each in shown], "unused": [each.scanned.name for each in skills if not each.last_used]},
        lines=lambda terminal: _lines(shown, terminal),
        notes=tuple(map(one_line, app.advisories.notes)),
        pages=True,
    )


def _audited(app: App) -> Iterator[AuditedSkill]:
    used: dict[str, Usage] = {}
    last: dict[str, str] = {}
    for row in app.sessions.store.usage():
        used[row.skill] = used.get(row.skill, Usage()) + row.usage
        last[row.skill] = max(last.get(row.skill, ""), row.day)
    deeds: dict[str, list[PastAction]] = {}
    for deed in app.sessions.store.deeds():
        deeds.setdefault(deed.skill, []).append(deed)
    seen = set()
    for entry in app.catalog.entries:
        if entry.folder not in seen:
            seen.add(entry.folder)
            scanned = scan_folder(entry.folder)
            yield AuditedSkill(
                scanned=replace(scanned, report=app.advisories.check(scanned)),
                source=str(entry.source),
                usage=used.get(entry.name, Usage()),
                last_used=last.get(entry.name, ""),
                deeds=tuple(deeds.get(entry.name, ())),
                limit=app.capability_lists.find(entry.folder),
            )


def _row(each: AuditedSkill) -> dict[str, Any]:
    usage = each.usage
    return {
        "name": each.scanned.name,
        "folder": each.scanned.where,
        "source": each.source,
        "verdict": each.scanned.report.verdict,
        "capabilities": {kind: names for kind, names in capability_row(each.capabilities).items() if names},
        "held": each.limit is not None,
        "agreed": each.limit.is_agreed if each.limit else None,
        "unlisted": {kind: names for kind, names in each.unlisted.row().items() if names},
        "activations": usage.activations,
        "runs": usage.runs,
        "failures": usage.failures,
        "refusals": usage.refusals,
        "last_used": each.last_used or None,
        "did": [{"kind": one.kind, "name": one.name, "times": one.times, "last": one.last} for one in each.deeds],
        "known_bad": list(each.known_bad),
    }


def _lines(skills: list[AuditedSkill], terminal: Terminal) -> Iterator[str]:
    for each in skills:
        sign, style = _SIGNS[each.scanned.report.verdict]
        name = terminal.paint(one_line(each.scanned.name), "bold")
        yield f"{terminal.paint(sign, style)} {name}  {terminal.paint(each.source, 'dim')}  {_deeds(each)}"
        for message in each.known_bad:
            yield f"    {terminal.paint('known bad:', 'red')} {one_line(message)}"
        for line in each.capabilities.lines():
            kind, _, names = one_line(line).partition(": ")
            yield f"    {terminal.paint(f'{kind}:', 'dim')} {names}"
        for title, of in _DEEDS.items():
            if deeds := [_times(one) for one in each.deeds if one.kind is of]:
                yield f"    {terminal.paint(f'{title}:', 'dim')} {one_line(enumerated(deeds))}"
        if each.unlisted:
            yield f"    {terminal.paint('not in its list:', 'yellow')} {one_line(enumerated(each.unlisted.words()))}"
        if each.limit and not each.limit.is_agreed:
            yield f"    {terminal.paint('the list of its project is not agreed to; `metier skill install` shows it', 'yellow')}"
        if not each.capabilities and not each.unlisted:
            yield f"    {terminal.paint('text only', 'dim')}"
    if not skills:
        yield "No skills to show"
        return
    idle = sum(not each.last_used for each in skills)
    yield terminal.paint(f"{plural(len(skills), 'skill')}, {idle} unused; `metier skill scan NAME --run` runs one", "dim")


def _times(deed: PastAction) -> str:
    return f"{deed.name} ({deed.times} times)" if deed.times > 1 else deed.name


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
