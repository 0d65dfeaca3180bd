"""`metier stats`: what was used, with small charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta

import click

from metier.app import App
from metier.runtime import Usage, UsageRow

from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, cell_width, one_line, pad

__all__ = ["bar", "sparkline", "stats"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"
_WIDTH = 24
_MOST_SKILLS = 20
Key = Callable[[UsageRow], str]


@command("", "stats")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@click.option("--days", type=click.IntRange(1, 366), default=14, show_default=True, help="How far back.")
def stats(app: App, *, session_id: str | None, days: int) -> Result:
    """Show what was used: activations, tokens given to models, scripts and their time, by skill and by day.

    All of it is counted on this machine and stays here; nothing but names and numbers is kept.
    """
    today = datetime.now(UTC).date()
    span = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    rows = [each for each in app.sessions.store.usage(session_id or None) if each.day >= span[0].isoformat()]
    by_skill = _summed(rows, lambda each: each.skill)
    by_day = _summed(rows, lambda each: each.day)
    total = sum((each.usage for each in rows), Usage())
    data = {
        "days": days,
        "total": asdict(total),
        "skills": {name: asdict(usage) for name, usage in by_skill.items() if name},
        "by_day": {day.isoformat(): asdict(by_day.get(day.isoformat(), Usage())) for day in span},
    }
    return Result(data=data, lines=lambda terminal: _lines(total, by_skill, by_day, span, terminal))


def _lines(
    total: Usage, by_skill: dict[str, Usage], by_day: dict[str, Usage], span: Sequence[date], terminal: Terminal
) -> Iterator[str]:  # fmt: skip
    if total == Usage():
        yield f"nothing was used in the last {len(span)} days"
        return
    daily = [by_day.get(day.isoformat(), Usage()) for day in span]
    charts = {
        f"{total.activations:,} activations": [usage.activations for usage in daily],
        f"{total.tokens:,} tokens given to models": [usage.tokens for usage in daily],
        f"{total.runs:,} scripts, {total.failures:,} failed, {total.seconds:,.1f} s": [usage.runs for usage in daily],
    }
    for label, values in charts.items():
        yield f"{terminal.paint(sparkline(values), 'cyan')}  {label}"
    named = sorted(
        ((name, usage) for name, usage in by_skill.items() if name), key=lambda pair: (-pair[1].tokens, -pair[1].runs, pair[0])
    )
    yield ""
    widest = max((cell_width(one_line(name)) for name, _ in named), default=0)
    most = max((usage.tokens for _, usage in named), default=0)
    for name, usage in named[:_MOST_SKILLS]:
        drawn = terminal.paint(pad(bar(usage.tokens, most), _WIDTH), "green")
        counts = f"{usage.tokens:>7,} tokens  {usage.activations:>3} x  {usage.runs:>3} runs  {usage.seconds:.1f} s"
        yield f"{pad(one_line(name), widest)}  {drawn}  {counts}"
    if len(named) > _MOST_SKILLS:
        yield terminal.paint(f"{len(named) - _MOST_SKILLS:,} more skills; --json has all", "dim")


def sparkline(values: Sequence[float]) -> str:
    """One character a value; an empty day is a dot, so that nothing is not mistaken for little."""
    most = max(values, default=0)
    return "".join("·" if value <= 0 else _BLOCKS[min(7, int(value / most * 8 - 1e-9))] for value in values)


def bar(value: float, most: float, width: int = _WIDTH) -> str:
    """A bar of eighths of a character; whoever used anything has at least the thinnest."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(value / most * width * 8))
    return "█" * (eighths // 8) + _PARTS[eighths % 8].strip()


def _summed(rows: Sequence[UsageRow], key: Key) -> dict[str, Usage]:
    found: dict[str, Usage] = {}
    for each in rows:
        found[key(each)] = found.get(key(each), Usage()) + each.usage
    return found
