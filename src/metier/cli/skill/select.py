"""`metier skill select`: select the skills that fit a request."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, cell_width, one_line, pad, plural, truncate
from metier.errors import UsageError
from metier.selection import Match, MatchDecision, Selection

__all__ = ["request_text", "select"]

_SIGNS = {MatchDecision.ACTIVATE: ("✓", "green"), MatchDecision.SUGGEST: ("~", "yellow"), MatchDecision.NOTHING: ("·", "dim")}


@command("skill", "select")
@click.argument("query", nargs=-1, required=True, metavar="REQUEST")
@click.option("-k", "--limit", type=click.IntRange(min=1), help="Show this many, however well they fit.")
@click.option("--explain", is_flag=True, help="Show every signal's share in each score.")
@click.option(
    "--semantic/--words",
    default=None,
    help="Use sentence embeddings too, or words only.  [default: the setting selection.semantic]",
)
def select(app: App, *, query: tuple[str, ...], limit: int | None, explain: bool, semantic: bool | None) -> Result:
    """Select the skills that fit a request, locally: no network, no language model.

    Prints the skills to activate (✓); with -k also weaker matches, which are only worth a mention (~) or not even that (·).
    `-` reads the request from standard input.
    """
    text = request_text(query)
    selector = app.skills.selector if semantic is None else app.skills.selector_for(app.catalog, semantic=semantic)
    selection = selector.select(text, limit=limit)
    return Result(
        data={
            "query": text,
            "considered": selection.considered,
            "selected": [_row(match) for match in selection.selected],
            "rejected": [_row(match) for match in selection.rejected],
        },
        lines=lambda terminal: _lines(selection, terminal, explain=explain),
    )


def request_text(words: Sequence[str]) -> str:
    """Returns the request from the command line, or from standard input for `-`."""
    text = " ".join(words)
    if text == "-":
        text = sys.stdin.read(1 << 20)
    if not text.strip():
        raise UsageError("the request is empty", hint='describe the task, such as `metier skill select "merge two PDF files"`')
    return text


def _row(match: Match) -> dict[str, Any]:
    return {
        "id": match.id,
        "name": match.name,
        "description": match.skill.description,
        "score": round(match.score, 4),
        "fit": round(match.fit, 4),
        "confidence": round(match.confidence, 4),
        "decision": match.decision,
        "reason": match.reason,
        "shares": {share.signal: round(share.value, 4) for share in match.shares},
    }


def _lines(selection: Selection, terminal: Terminal, *, explain: bool) -> Iterator[str]:
    if not selection.selected:
        yield f"None of {plural(selection.considered, 'skill')} fits well enough"
        near = [match.name for match in selection.rejected if match.decision is MatchDecision.SUGGEST]
        if near:
            yield f"Closest: {', '.join(map(one_line, near[:3]))}"
        return
    widest = max(cell_width(one_line(match.name)) for match in selection.selected)
    for match in selection.selected:
        sign, style = _SIGNS[match.decision]
        name = terminal.paint(pad(one_line(match.name), widest), "bold")
        sure = f"{match.confidence:4.0%}"
        space = terminal.width - widest - 11 if terminal.width else None
        yield f"{terminal.paint(sign, style)} {name}  {sure}  {truncate(one_line(match.reason), space)}"
        if explain:
            for share in sorted(match.shares, key=lambda share: -abs(share.value)):
                yield f"    {pad(share.signal, 24)} {share.value:+.3f}"
    yield terminal.paint(f"of {plural(selection.considered, 'skill')}", "dim")
