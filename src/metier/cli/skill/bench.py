"""`metier skill bench`: how well the skills of a library are found, by our ranker and by others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.host_lists import HOST_CHOICES
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural, truncate
from metier.errors import MetierError, NotFoundError, UsageError
from metier.evals import (
    BenchRequest,
    LibraryBench,
    MakeRanker,
    bench_library,
    listing_ranker,
    rankers_here,
    read_queries,
    render_library_page,
)
from metier.hosts import HOST_ALIASES
from metier.sources import DiskFiles, IndexedSkill, read_regular, replace_text

__all__ = ["bench"]

_MOST_SHOWN = 10


@command("skill", "bench")
@click.option(
    "--requests", "file", metavar="FILE", help='JSON lines: {"request": "…", "skill": "NAME"}. Default: evals and sessions.'
)
@click.option(
    "--agent",
    "agents",
    type=click.Choice(HOST_CHOICES),
    multiple=True,
    help="Also measure what this agent shows its model; may be repeated.",
)
@click.option("--html", metavar="FILE", help="Also write the report as a page with charts.")
def bench(app: App, *, file: str | None, agents: tuple[str, ...], html: str | None) -> Result:
    """Measure how well your skills are found.

    Asks every ranker on this machine for each request: which skill comes first? Shows how that falls as a library grows, which
    skills are confused, which take requests of others, and what to switch off. The requests are those of the skills' trigger
    evals and those in your sessions after which a skill was loaded, or those in a file. No model is asked.
    """
    skills = [IndexedSkill(entry) for entry in app.catalog if entry.is_for_models]
    ids = {skill.name: skill.id for skill in skills}
    requests = _from_file(file, ids) if file else _from_library(app, skills, ids)
    if not requests:
        raise NotFoundError(
            "there are no requests to measure with",
            hint="write evals with `metier skill eval NAME --init`, or pass --requests FILE",
        )
    rankers = rankers_here() | {f"what {agent} shows": _listing(app, agent, skills) for agent in dict.fromkeys(agents)}
    found = bench_library(skills, requests, rankers)
    if html:
        replace_text(os.path.abspath(html), render_library_page(found, title="How well skills are found"))
    return Result(
        data={**found.data(), "page": html},
        lines=lambda terminal: (*_lines(found, terminal), *((f"Wrote {html}",) if html else ())),
    )


def _from_file(file: str, ids: dict[str, str]) -> list[BenchRequest]:
    try:
        lines = read_regular(file).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NotFoundError(f"cannot read {file}: {error}", hint="pass a file of JSON lines") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, name = row["request"], row["skill"]
        except (ValueError, TypeError, KeyError):
            raise UsageError(
                f"{file}:{number}: not a request", hint='write {"request": "merge two PDF files", "skill": "pdf"} on each line'
            ) from None
        if str(name) not in ids:
            raise NotFoundError(f"{file}:{number}: there is no skill {name!r}", hint="see `metier skill list`")
        found.append(BenchRequest(text=str(text), skill=ids[str(name)]))
    return found


def _from_library(app: App, skills: Sequence[IndexedSkill], ids: dict[str, str]) -> list[BenchRequest]:
    evals = [(text, skill.id) for skill in skills for text in _eval_requests(skill)]
    loaded = [
        (text, ids[name]) for name, texts in app.recent_requests.by_loaded_skill().items() if name in ids for text in texts
    ]
    return [BenchRequest(text=text, skill=skill) for text, skill in dict.fromkeys([*evals, *loaded])]


def _eval_requests(skill: IndexedSkill) -> list[str]:
    try:
        return [query.text for query in read_queries(DiskFiles(skill.id)) if query.should_trigger]
    except (MetierError, OSError):
        # Missing, or broken, which `metier skill eval` reports.
        return []


def _listing(app: App, choice: str, skills: Sequence[IndexedSkill]) -> MakeRanker:
    host = HOST_ALIASES.get(choice, choice)
    listing = app.host_listings.listing_of(host, app.host_listings.skills_of(host))
    shown = {os.path.realpath(os.path.dirname(one.skill.file)): one.shown for one in listing.listed if not one.skill.own}
    return listing_ranker({skill.id: shown[real] for skill in skills if (real := os.path.realpath(skill.id)) in shown})


def _lines(found: LibraryBench, terminal: Terminal) -> Iterator[str]:
    yield f"{plural(found.requests, 'request')} to {plural(found.skills, 'skill')}"
    yield ""
    width = max(len(one.ranker) for one in found.scores)
    yield terminal.paint(f"{'':{width}}   first  in five  NDCG@10", "dim")
    for one in found.scores:
        low, high = one.interval
        share, five = one.first / one.requests, one.in_five / one.requests
        yield f"{one.ranker:{width}}  {share:6.0%}  {five:7.0%}  {one.ndcg:7.3f}   (first: {low:.0%} to {high:.0%})"
    if len(found.decay) > 1:
        yield ""
        yield terminal.paint("first, by size of the library", "bold")
        for one in found.scores:
            yield f"{one.ranker:{width}}  " + "  ".join(
                f"{point.size:,}: {point.first[one.ranker]:.0%}" for point in found.decay
            )
    yield from _confused(found, terminal)
    if found.clean_up:
        off = ", ".join(map(one_line, found.clean_up.off))
        before, after = (f"{low:.0%} to {high:.0%}" for low, high in found.clean_up.intervals)
        yield ""
        tested = plural(found.clean_up.tested, "request")
        yield f"Of {tested} that this was not chosen on, {found.clean_up.before:,} find their skill now ({before});"
        yield f"without {off}, {found.clean_up.after:,} do ({after})"
        yield f"Try `metier skill disable {one_line(found.clean_up.off[0])}`"


def _confused(found: LibraryBench, terminal: Terminal) -> Iterator[str]:
    width = max(terminal.width - 16, 20) if terminal.width else None
    for one in found.confusions[:_MOST_SHOWN]:
        yield ""
        yield f"{plural(one.requests, 'request')} of {one_line(one.skill)} to {one_line(one.rival)}"
        yield f"    such as {truncate(repr(one_line(one.example)), width)}"
    if len(found.confusions) > _MOST_SHOWN:
        yield f"and {len(found.confusions) - _MOST_SHOWN:,} more pairs; --json lists them all"
    for hole in found.black_holes[:_MOST_SHOWN]:
        yield ""
        yield (
            f"{one_line(hole.skill)} takes {plural(hole.taken, 'request')} of {plural(hole.victims, 'other skill')} "
            f"and gets {hole.own:,} of its own"
        )
