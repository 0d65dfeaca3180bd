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
from metier.selection import Match, MatchDecision, Selection, install_command
from metier.values import replace

__all__ = ["request_text", "select"]

_SIGNS = {MatchDecision.ACTIVATE: ("✓", "green"), MatchDecision.SUGGEST: ("~", "yellow"), MatchDecision.NOTHING: ("·", "dim")}


@command("skill", "select")
@click.argument("query", nargs=-1, metavar="REQUEST")
@click.option("-k", "--limit", type=click.IntRange(min=1), help="Show this many, however well they fit.")
@click.option("--explain", is_flag=True, help="Show every signal's share in each score.")
@click.option(
    "--semantic/--words",
    default=None,
    help="Use sentence embeddings too, or words only.  [default: the setting selection.semantic]",
)
@click.option(
    "--registry", is_flag=False, flag_value="", metavar="[NAME|URL]",
    help="Also rank skills of a registry that are not installed.  [default: skills.registry]",
)  # fmt: skip
@click.option("--insecure-http", is_flag=True, help="Allow an http:// address.")
def select(
    app: App, *, query: tuple[str, ...], limit: int | None, explain: bool, semantic: bool | None, registry: str | None,
    insecure_http: bool,
) -> Result:  # fmt: skip
    """Select the skills that fit a request, locally: no network, no language model.

    Prints the skills to activate (✓); with -k also weaker matches, which are only worth a mention (~) or not even that (·).
    `-` reads the request from standard input. `--registry` sends the most telling words of the request to a registry, ranks
    what that finds on this machine, and prints the command that would install it; nothing is installed.
    """
    if registry and not query:
        # `--registry "merge two PDF files"`: the value is the request, and the registry is the default one.
        query, registry = (registry,), ""
    text = request_text(query)
    selector = app.skills.selector if semantic is None else app.skills.selector_for(app.catalog, semantic=semantic)
    if registry is not None:
        selector.recall = app.registries.recall(registry or None, insecure=insecure_http)
        selector.options = replace(selector.options, always_recall=True)
    selection = selector.select(text, limit=limit)
    return Result(
        data={
            "query": text,
            "considered": selection.considered,
            "selected": [_row(match) for match in selection.selected],
            "rejected": [_row(match) for match in selection.rejected],
            "available": [_row(match) | {"install": install_command(match)} for match in selection.available],
        },
        lines=lambda terminal: _lines(selection, terminal, explain=explain, is_searched=registry is not None),
        notes=(one_line(selection.note),) if selection.note else (),
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


def _lines(selection: Selection, terminal: Terminal, *, explain: bool, is_searched: bool) -> Iterator[str]:
    yield from _installed(selection, terminal, explain=explain)
    if not is_searched or selection.note:
        return
    if not selection.available:
        yield "The registry has no other skill that fits"
        return
    yield "Not installed:"
    yield from _rows(selection.available, terminal, explain=explain)
    yield f"To install the first: {install_command(selection.available[0])}"


def _installed(selection: Selection, terminal: Terminal, *, explain: bool) -> Iterator[str]:
    if not selection.selected:
        yield f"None of {plural(selection.considered, 'skill')} fits well enough"
        near = [match.name for match in selection.rejected if match.decision is MatchDecision.SUGGEST]
        if near:
            yield f"Closest: {', '.join(map(one_line, near[:3]))}"
        return
    yield from _rows(selection.selected, terminal, explain=explain)
    yield terminal.paint(f"of {plural(selection.considered, 'skill')}", "dim")


def _rows(matches: Sequence[Match], terminal: Terminal, *, explain: bool) -> Iterator[str]:
    widest = max(cell_width(one_line(match.name)) for match in matches)
    for match in matches:
        sign, style = _SIGNS[match.decision]
        name = terminal.paint(pad(one_line(match.name), widest), "bold")
        sure = f"{match.confidence:4.0%}"
        space = terminal.width - widest - 11 if terminal.width else None
        yield f"{terminal.paint(sign, style)} {name}  {sure}  {truncate(one_line(match.reason), space)}"
        if explain:
            for share in sorted(match.shares, key=lambda share: -abs(share.value)):
                yield f"    {pad(share.signal, 24)} {share.value:+.3f}"
