"""`metier skill conflicts`: installed skills that compete for the same requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from metier.app import App, RequestTakeovers
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import entry_named
from metier.cli.core.terminal import Terminal, one_line, plural, truncate
from metier.errors import MetierError
from metier.evals import ConflictReport, find_conflicts, read_queries
from metier.selection import SelectableSkill
from metier.sources import DiskFiles, IndexedSkill

__all__ = ["conflicts"]

_MOST_SHOWN = 100


@command("skill", "conflicts")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@click.option("--fail", is_flag=True, help="Exit with 1 if there is a conflict.")
def conflicts(app: App, *, names: tuple[str, ...], fail: bool) -> Result:
    """Find skills that compete for the same requests.

    Lists each pair with a request that selects both, the preferred skill, and the words they share. With names, lists only
    the pairs with one of them. Also counts the requests, in the transcripts of your agents and in the evals of your skills,
    that one skill takes from another.
    """
    wanted = {entry_named(app, name).folder for name in names}
    skills = [IndexedSkill(entry) for entry in app.catalog if entry.is_for_models]
    takeovers = app.recent_requests.takeovers({entry_named(app, name).name for name in names})
    found = find_conflicts(skills, app.skills.selector, requests=_requests, among=wanted or None)
    untested = f"Not tested: {plural(found.untested, 'less similar pair')}; name a skill to test all of its pairs"
    return Result(
        data={
            "considered": len(skills), "conflicts": [pair.data() for pair in found.conflicts], "untested": found.untested,
            "takeovers": {
                "requests": [one.data() for one in takeovers.requests.takeovers],
                "evals": [one.data() for one in takeovers.evals.takeovers],
            },
        },
        lines=lambda terminal: (*_takeover_lines(takeovers, terminal), *_lines(found, len(skills), terminal)),
        notes=(untested,) if found.untested else (),
        status=1 if fail and found.conflicts else 0,
    )  # fmt: skip


def _takeover_lines(takeovers: RequestTakeovers, terminal: Terminal) -> Iterator[str]:
    examples = [one.example for one in (*takeovers.requests.takeovers, *takeovers.evals.takeovers)]
    for sentence, example in list(zip(takeovers.sentences(), examples, strict=True))[:_MOST_SHOWN]:
        yield one_line(sentence)
        yield f"    such as {truncate(repr(one_line(example)), max(terminal.width - 12, 20) if terminal.width else 200)}"


def _requests(skill: SelectableSkill) -> Iterable[str]:
    try:
        return [query.text for query in read_queries(DiskFiles(skill.id)) if query.should_trigger]
    except (MetierError, OSError):
        # Missing, or broken, which `metier skill eval` reports.
        return ()


def _lines(found: ConflictReport, considered: int, terminal: Terminal) -> Iterator[str]:
    pairs = found.conflicts
    for pair in pairs[:_MOST_SHOWN]:
        first, second = (terminal.paint(one_line(name), "bold") for name in pair.names)
        yield f"{first} and {second}  {pair.similarity:.0%} similar: {', '.join(map(one_line, pair.shared))}"
        width_left = terminal.width - 26 - len(pair.winner) if terminal.width else None
        request = truncate(repr(one_line(pair.request)), max(width_left, 20) if width_left else None)
        yield f"    for {request} the ranker prefers {one_line(pair.winner)}"
    if len(pairs) > _MOST_SHOWN:
        yield f"and {len(pairs) - _MOST_SHOWN:,} more; --json lists them all"
    if not pairs:
        yield f"No conflicts among {plural(considered, 'skill')}"
        return
    count = f"{plural(len(pairs), 'pair')} among {plural(considered, 'skill')}"
    yield terminal.paint(f"{count}; state in each description what it is not for", "dim")
