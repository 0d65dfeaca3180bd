"""The part of `metier stats` about other agents: skills that they loaded, skills that they never load, and their catalogs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any

from metier.app import App
from metier.hosts.transcripts import TranscriptUsage, summarize_loads
from metier.spec import estimate_tokens
from metier.values import dataclass

from .core.charts import BAR_WIDTH, bar, sparkline
from .core.terminal import Terminal, cell_width, one_line, pad, plural

__all__ = ["AgentReport", "CatalogCost", "agent_report", "agent_report_lines"]

_MAX_SKILLS = 20
_MAX_UNUSED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCost:
    """The list of skills that an agent gives its model here."""

    skills: int
    tokens: int
    """Estimated, of names and descriptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    usage: TranscriptUsage
    catalogs: Mapping[str, CatalogCost]
    unused: Mapping[str, tuple[str, ...]]
    """Visible skills that were not loaded in the period, with the agents that show them."""

    def data(self) -> dict[str, Any]:  # Any: JSON
        return {
            "sessions": {name: asdict(one) for name, one in self.usage.agents.items()},
            "skills": {name: one.data() for name, one in self.usage.skills.items()},
            "by_day": dict(self.usage.by_day),
            "never_loaded": {name: list(agents) for name, agents in self.unused.items()},
            "catalogs": {name: asdict(one) for name, one in self.catalogs.items()},
            "unreadable_records": self.usage.skipped,
        }


def agent_report(
    app: App, agents: Collection[str], *, since: float, today: date, days: int, activated: Collection[str] = ()
) -> AgentReport:
    """`activated` are skills that metier itself used in the period."""
    usage = summarize_loads(app.transcripts.read(agents=agents, since=since), since=since, today=today, days=days)
    catalogs, unused = {}, dict[str, tuple[str, ...]]()
    for agent in usage.agents:
        entries = [entry for entry in app.router.visible_catalog(agent, app.folder) if entry.is_for_models]
        tokens = sum(estimate_tokens(f"- {entry.name}: {entry.description}\n") for entry in entries)
        catalogs[agent] = CatalogCost(skills=len(entries), tokens=tokens)
        for entry in entries:
            if entry.name not in usage.skills and entry.name not in activated:
                unused[entry.name] = (*unused.get(entry.name, ()), agent)
    return AgentReport(usage=usage, catalogs=catalogs, unused=dict(sorted(unused.items())))


def agent_report_lines(report: AgentReport, terminal: Terminal, *, is_alone: bool) -> Iterator[str]:
    usage, agents = report.usage, report.usage.agents.values()
    if not usage.agents:
        if is_alone:
            yield "No transcripts of these agents in this period"
        return
    if not is_alone:
        yield ""
    given = sum(one.input_tokens + one.output_tokens for one in agents)
    counts = (
        f"{plural(sum(one.sessions for one in agents), 'session')}, {plural(sum(one.requests for one in agents), 'request')}"
        f", {plural(given, 'token')}"
    )
    yield f"{terminal.paint('In your agents', 'bold')}  {counts}"
    loads = list(usage.by_day.values())
    yield f"{terminal.paint(sparkline(loads), 'cyan')}  {plural(sum(one.loads for one in agents), 'load')} of skills"
    yield from _skill_lines(usage, terminal)
    if report.unused:
        names = [one_line(name) for name in list(report.unused)[:_MAX_UNUSED]]
        more = f" and {len(report.unused) - _MAX_UNUSED:,} more" if len(report.unused) > _MAX_UNUSED else ""
        yield f"Never loaded: {', '.join(names)}{more}"
    for agent, cost in report.catalogs.items():
        counts = f"{plural(cost.skills, 'skill')}, about {plural(cost.tokens, 'token')}"
        yield f"Catalog of {agent}: {counts} in each conversation here"
    if usage.skipped:
        yield terminal.paint(f"{plural(usage.skipped, 'record')} of transcripts could not be read", "dim")


def _skill_lines(usage: TranscriptUsage, terminal: Terminal) -> Iterator[str]:
    shown = list(usage.skills.items())[:_MAX_SKILLS]
    widest = max((cell_width(one_line(name)) for name, _ in shown), default=0)
    most = max((one.loads for _, one in shown), default=0)
    for name, one in shown:
        drawn = terminal.paint(pad(bar(one.loads, most), BAR_WIDTH), "green")
        where = ", ".join(f"{agent} {count}" for agent, count in sorted(one.agents.items()))
        last = datetime.fromtimestamp(one.last, UTC).astimezone().strftime("%Y-%m-%d %H:%M") if one.last else "unknown"
        yield f"{pad(one_line(name), widest)}  {drawn}  {one.loads:>3} x  {one.tokens:>7,} tokens  last {last}  {where}"
    if len(usage.skills) > _MAX_SKILLS:
        yield terminal.paint(f"{len(usage.skills) - _MAX_SKILLS:,} more skills; use --json for all", "dim")
