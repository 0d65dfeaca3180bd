"""`metier stats`: usage of skills, with small charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

import click

from metier.app import App
from metier.runtime import Usage, UsageSummary, complete_id, summarize_usage

from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, cell_width, one_line, pad, plural

__all__ = ["bar", "sparkline", "stats"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"
_WIDTH = 24
_MAX_SKILLS = 20


@command("", "stats")
@click.option("--session", "session_id", metavar="ID", help="Usage of this session only.")
@click.option("--days", type=click.IntRange(1, 366), default=14, show_default=True, help="Number of days.")
def stats(app: App, *, session_id: str | None, days: int) -> Result:
    """Show usage statistics: activations, tokens given to models, scripts and their time, by skill and by day.

    Usage is recorded on this machine only, as names and numbers.
    """
    store = app.sessions.store
    session = (complete_id(session_id, (each.id for each in store.sessions())) or session_id) if session_id else None
    rows = store.usage(session)
    summary = summarize_usage(rows, today=datetime.now(UTC).date(), days=days)
    data = {
        "days": days,
        "total": asdict(summary.total),
        "skills": {name: asdict(usage) for name, usage in summary.by_skill.items() if name},
        "by_day": {day: asdict(usage) for day, usage in summary.by_day.items()},
    }
    return Result(data=data, lines=lambda terminal: _lines(summary, terminal))


def _lines(summary: UsageSummary, terminal: Terminal) -> Iterator[str]:
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
        drawn = terminal.paint(pad(bar(usage.tokens, most), _WIDTH), "green")
        counts = f"{usage.tokens:>7,} tokens  {usage.activations:>3} x  {usage.runs:>3} runs  {usage.seconds:.1f} s"
        yield f"{pad(one_line(name), widest)}  {drawn}  {counts}"
    if len(named) > _MAX_SKILLS:
        yield terminal.paint(f"{len(named) - _MAX_SKILLS:,} more skills; use --json for all", "dim")


def sparkline(values: Sequence[float]) -> str:
    """Returns one character for each value; a day without usage is a dot."""
    most = max(values, default=0)
    return "".join("·" if value <= 0 else _BLOCKS[min(7, int(value / most * 8 - 1e-9))] for value in values)


def bar(value: float, most: float, width: int = _WIDTH) -> str:
    """Returns a bar with a resolution of an eighth of a character. A value above 0 has at least the thinnest bar."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(value / most * width * 8))
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()
