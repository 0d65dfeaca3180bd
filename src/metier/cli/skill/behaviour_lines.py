"""The behaviour of a skill as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metier.cli.core.terminal import Terminal, one_line, plural
from metier.runtime.behaviour import BehaviourOutcome, BehaviourReport

__all__ = ["behaviour_lines", "behaviour_row"]

_STYLES = {
    BehaviourOutcome.FOUND: "red", BehaviourOutcome.UNDECIDED: "yellow", BehaviourOutcome.CLEAN: "green",
    BehaviourOutcome.NOTHING: "dim",
}  # fmt: skip
_MOST = 6


def behaviour_lines(seen: BehaviourReport, terminal: Terminal) -> Iterator[str]:
    """Yields what the skill did: the steps, then one line for each kind of deed."""
    outcome = terminal.paint(seen.outcome, _STYLES[seen.outcome])
    if not seen.steps:
        yield f"  behaviour: {outcome}"
        return
    yield f"  behaviour: {outcome}  {plural(seen.steps, 'step')}, each run twice, {seen.seconds:.1f} s"
    rows = (
        ("connected to", seen.hosts), ("read", seen.reads), ("wrote", seen.writes), ("started", seen.programs),
        ("asked for packages", seen.packages), ("differs", seen.differences),
    )  # fmt: skip
    for name, values in rows:
        if values:
            yield f"    {terminal.paint(f'{name}:', 'dim')} {one_line(_enumerate(values))}"
    if seen.slept:
        yield f"    {terminal.paint('slept:', 'dim')} {_duration(seen.slept)}, skipped"
    for each in seen.sent:
        form = "" if each.form == "plain" else f" as {each.form}"
        yield f"    {terminal.paint('sent:', 'red')} {one_line(f'{each.what}{form} to {each.host}')}"
    for reason in seen.undecided:
        yield f"    {terminal.paint('not decided:', 'yellow')} {one_line(reason)}"


def behaviour_row(seen: BehaviourReport) -> dict[str, Any]:
    """Returns the JSON. Its findings are among those of the scan, with the source `run`."""
    lists = ("hosts", "reads", "writes", "programs", "packages", "differences", "undecided")
    return {
        "outcome": seen.outcome,
        "steps": seen.steps,
        "seconds": seen.seconds,
        "cpu_seconds": seen.cpu,
        "slept": seen.slept,
        **{name: list(getattr(seen, name)) for name in lists},
        "sent": [{name: getattr(each, name) for name in each.__slots__} for each in seen.sent],
    }


def _enumerate(values: tuple[str, ...]) -> str:
    return ", ".join(values[:_MOST]) + (f" and {len(values) - _MOST} more" if len(values) > _MOST else "")


def _duration(seconds: int) -> str:
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return plural(seconds // size, name)
    return plural(seconds, "second")
