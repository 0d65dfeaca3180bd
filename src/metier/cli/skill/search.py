"""`metier skill search`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.registry_argument import offline_option, registry_options
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, truncate
from metier.registry import SearchOptions, SearchResult

__all__ = ["VERDICT_SIGNS", "search"]

VERDICT_SIGNS = {"pass": ("✓", "green"), "review": ("?", "yellow"), "block": ("✗", "red")}
_SORTS = ("relevance", "downloads", "updated", "name")


@command("skill", "search")
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option("--tag", default="", help="Only skills with this tag.")
@click.option("--owner", default="", help="Only skills of this namespace.")
@click.option("--license", "licence", default="", help="Only skills with this licence.")
@click.option("--verdict", default="", type=click.Choice(["", "pass", "review"]), help="Only skills with this scan verdict.")
@click.option("--sort", default="", type=click.Choice(["", *_SORTS]), help="Sort order.  [default: relevance]")
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 100), help="Maximum number of results.")
@click.option("--cursor", default="", help="Continue with the next page: `next` of the previous result.")
@offline_option
@registry_options
def search(
    app: App, *, words: tuple[str, ...], tag: str, owner: str, licence: str, verdict: str, sort: str, limit: int,
    cursor: str, offline: bool, registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Search a registry for skills.

    Misspelt words are corrected. There is no total; `next` is set if there are more results.
    """
    import msgspec

    options = SearchOptions(
        tag=tag, owner=owner, license=licence, verdict=verdict, sort=sort, limit=limit, cursor=cursor
    )  # fmt: skip
    found = app.registries.search(" ".join(words), options, registry=registry, offline=offline, insecure=insecure_http)
    data = {
        "registry": found.registry, "skills": msgspec.to_builtins(found.skills), "next": found.next,
        "corrected": dict(found.corrected),
    }  # fmt: skip
    return Result(data=data, lines=lambda terminal: _lines(found, terminal))


def _lines(found: SearchResult, terminal: Terminal) -> Iterator[str]:
    for typed, corrected in found.corrected.items():
        message = f"No results for {one_line(typed)!r}. Showing results for {one_line(corrected)!r}."
        yield terminal.paint(message, "dim")
    if not found.skills:
        yield "No matches"
        return
    width = max(len(skill.name) for skill in found.skills)
    for skill in found.skills:
        sign, style = VERDICT_SIGNS.get(skill.verdict, (" ", "dim"))
        name = terminal.paint(pad(one_line(skill.name), width), "bold")
        version = skill.version or (f"{skill.fresh} (cool-down)" if skill.fresh else "-")
        facts = f"{one_line(version)}  {skill.downloads:,}"
        space = terminal.width and max(20, terminal.width - width - len(facts) - 8)
        about = truncate(one_line(skill.description), space)
        yield f"{terminal.paint(sign, style)} {name}  {terminal.paint(facts, 'dim')}  {about}"
    if found.next:
        yield terminal.paint(f"More results: --cursor {one_line(found.next)}", "dim")
