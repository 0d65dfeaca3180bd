"""`metier stats`: usage of skills, in metier and in other agents, with small charts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

import click

from metier.app import App
from metier.errors import UsageError
from metier.runtime import Usage, UsageSummary, complete_id, summarize_usage

from .agent_stats import agent_report, agent_report_lines
from .core.charts import BAR_WIDTH, bar, sparkline
from .core.dispatch import command
from .core.period import agent_option, since_option
from .core.result import Result
from .core.terminal import Terminal, cell_width, one_line, pad, plural

__all__ = ["stats"]

_MAX_SKILLS = 20
_MOST_DAYS = 366
_DAY = 24 * 3600


@command("", "stats")
@click.option("--session", "session_id", metavar="ID", help="Usage of this session of metier only.")
@click.option("--days", type=click.IntRange(1, _MOST_DAYS), default=14, show_default=True, help="Number of days.")
@since_option()
@agent_option
@click.option("--own", is_flag=True, help="Only metier's own sessions; read no transcripts of other agents.")
@click.option("--prior", is_flag=True, help="Your corrections of the selection, which move later ones.")
@click.option("--clear", is_flag=True, help="With --prior: delete them.")
def stats(
    app: App,
    *,
    session_id: str | None,
    days: int,
    since: float | None,
    agents: tuple[str, ...],
    own: bool,
    prior: bool,
    clear: bool,
) -> Result:
    """Show usage: activations, tokens given to models, scripts and their time, by skill and by day.

    Also reads the transcripts that other agents keep on this machine: which skills were loaded, where, how often and when
    last; which were never loaded; and what the list of skills costs in each agent. Everything stays on this machine. The
    setting `stats.transcripts` switches that off.
    """
    if own and agents:
        raise UsageError("--own and --agent cannot be used together", hint="use one of them")
    if clear and not prior:
        raise UsageError("--clear deletes your corrections of the selection", hint="metier stats --prior --clear")
    if prior:
        return _prior(app, clear=clear)
    now = time.time()
    if since is not None:
        days = min(_MOST_DAYS, max(1, math.ceil((now - since) / _DAY)))
    start, today = now - days * _DAY if since is None else since, datetime.now(UTC).date()
    store = app.sessions.store
    session = (complete_id(session_id, (each.id for each in store.sessions())) or session_id) if session_id else None
    summary = summarize_usage(store.usage(session), today=today, days=days)
    data = {
        "days": days,
        "total": asdict(summary.total),
        "skills": {name: asdict(usage) for name, usage in summary.by_skill.items() if name},
        "by_day": {day: asdict(usage) for day, usage in summary.by_day.items()},
    }
    report = None
    if not own and session is None and app.transcripts.is_enabled:
        report = agent_report(app, agents, since=start, today=today, days=days, activated=summary.by_skill)
        data["agents"] = report.data()

    def lines(terminal: Terminal) -> Iterator[str]:
        if not agents:
            yield from _own_lines(summary, terminal)
        if report:
            yield from agent_report_lines(report, terminal, is_alone=bool(agents))

    return Result(data=data, lines=lines, pages=True)


def _prior(app: App, *, clear: bool) -> Result:
    if clear:
        count = app.sessions.prior.clear()
        done = f"Deleted your corrections for {plural(count, 'skill')}" if count else "There are no corrections"
        return Result(data={"deleted": count}, lines=lambda _: [done])
    found = dict(list(app.sessions.prior.corrections().items())[::-1])
    rows = {
        name: {"wanted": counts.wanted, "unwanted": counts.unwanted, "odds": round(counts.odds, 2)}
        for name, counts in found.items()
    }

    def lines(terminal: Terminal) -> Iterator[str]:
        if not found:
            yield "There are no corrections: a skill that you call by name, or unload after it was selected, counts as one"
            return
        widest = max(cell_width(one_line(name)) for name in found)
        for name, counts in found.items():
            moved = "preferred" if counts.odds > 0 else "avoided" if counts.odds < 0 else "as before"
            said = f"called {counts.wanted} x, unloaded {counts.unwanted} x"
            yield f"{pad(one_line(name), widest)}  {moved}  {terminal.paint(said, 'dim')}"
        yield terminal.paint("Delete them with `metier stats --prior --clear`", "dim")

    return Result(data={"skills": rows}, lines=lines, pages=True)


def _own_lines(summary: UsageSummary, terminal: Terminal) -> Iterator[str]:
    total, daily = summary.total, list(summary.by_day.values())
    if total == Usage():
        yield f"No usage in the last {plural(len(daily), 'day')}"
        return
    charts = {
        plural(total.activations, "activation"): [usage.activations for usage in daily],
        f"{plural(total.tokens, 'token')} given to models": [usage.tokens for usage in daily],
        f"{plural(total.runs, 'script')}, {total.failures:,} failed, {total.seconds:,.1f} s": [usage.runs for usage in daily],
    }
    for label, values in charts.items():
        yield f"{terminal.paint(sparkline(values), 'cyan')}  {label}"
    named = sorted(
        ((name, usage) for name, usage in summary.by_skill.items() if name),
        key=lambda pair: (-pair[1].tokens, -pair[1].runs, pair[0]),
    )
    yield ""
    widest = max((cell_width(one_line(name)) for name, _ in named), default=0)
    most = max((usage.tokens for _, usage in named), default=0)
    for name, usage in named[:_MAX_SKILLS]:
        drawn = terminal.paint(pad(bar(usage.tokens, most), BAR_WIDTH), "green")
        counts = f"{usage.tokens:>7,} tokens  {usage.activations:>3} x  {usage.runs:>3} runs  {usage.seconds:.1f} s"
        yield f"{pad(one_line(name), widest)}  {drawn}  {counts}"
    if len(named) > _MAX_SKILLS:
        yield terminal.paint(f"{len(named) - _MAX_SKILLS:,} more skills; use --json for all", "dim")
