"""`metier skill search`, `info` and `versions`: what a registry has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, truncate

__all__ = ["FROM", "info", "search", "split_version", "versions"]

FROM = (
    click.option("--registry", "registry", metavar="NAME|URL", help="Which registry; skills.registry if not given."),
    click.option("--insecure-http", is_flag=True, help="Also an address that is not encrypted."),
)
"""Which registry a command asks."""
_OFFLINE = click.option("--offline", is_flag=True, help="Only what was asked before, from memory.")
_SORTS = ("relevance", "downloads", "updated", "name")
_SIGNS = {"pass": ("✓", "green"), "review": ("?", "yellow"), "block": ("✗", "red")}


def from_registry(function: Any) -> Any:  # Any: click's decorators
    for option in reversed(FROM):
        function = option(function)
    return function


def split_version(text: str) -> tuple[str, str]:
    """NAME or NAME@VERSION, with or without the registry's short name before it."""
    name, _, version = text.removeprefix("r9s:").partition("@")
    return name, version


@command("skill", "search")
@click.argument("words", nargs=-1, metavar="[WORDS]...")
@click.option("--tag", default="", help="Only with this tag.")
@click.option("--owner", default="", help="Only of this namespace.")
@click.option("--license", "licence", default="", help="Only under this licence.")
@click.option("--verdict", default="", type=click.Choice(["", "pass", "review"]), help="Only with this verdict of the scan.")
@click.option("--sort", type=click.Choice(_SORTS), help="The order; best match first if there are words.")
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 100), help="How many at most.")
@click.option("--cursor", default="", help="`next` of the answer before.")
@_OFFLINE
@from_registry
def search(
    app: App, *, words: tuple[str, ...], tag: str, owner: str, licence: str, verdict: str, sort: str | None, limit: int,
    cursor: str, offline: bool, registry: str | None, insecure_http: bool,
) -> Result:  # fmt: skip
    """Search a registry for skills.

    A word that is spelt wrong finds what it was meant to be. There is no total: `next` says whether there are more.
    """
    client = app.registries.client(registry, offline=offline, insecure=insecure_http)
    page = client.search(
        " ".join(words), limit=limit, cursor=cursor, tag=tag, owner=owner, license=licence, verdict=verdict, sort=sort or ""
    )
    return Result(data={"registry": client.url, **page}, lines=lambda terminal: _found(page, terminal))


@command("skill", "info")
@click.argument("name", metavar="NAME[@VERSION]")
@_OFFLINE
@from_registry
def info(app: App, *, name: str, offline: bool, registry: str | None, insecure_http: bool) -> Result:
    """Show a skill of a registry: what it is, what the scan says, who signed it, what it costs in tokens."""
    client = app.registries.client(registry, offline=offline, insecure=insecure_http)
    plain, wanted = split_version(name)
    card = client.skill(plain)
    release = client.version(plain, wanted or str(card.get("version") or "latest"))
    data = {"registry": client.url, **card, "release": release}
    return Result(data=data, lines=lambda terminal: _about(card, release, client.url, terminal))


@command("skill", "versions")
@click.argument("name")
@_OFFLINE
@from_registry
def versions(app: App, *, name: str, offline: bool, registry: str | None, insecure_http: bool) -> Result:
    """List every version of a skill in a registry, yanked ones too."""
    client = app.registries.client(registry, offline=offline, insecure=insecure_http)
    answer = client.versions(split_version(name)[0])
    return Result(data={"registry": client.url, **answer}, lines=lambda terminal: _versions(answer, terminal))


def _found(page: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:
    for typed, meant in page.get("corrected", {}).items():
        yield terminal.paint(f"{one_line(typed)} was read as {one_line(meant)}", "dim")
    rows = page.get("skills", [])
    if not rows:
        yield "no skill matches"
        return
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        sign, style = _SIGNS.get(str(row.get("verdict")), (" ", "dim"))
        name = terminal.paint(pad(one_line(row["name"]), width), "bold")
        facts = f"{one_line(row.get('version') or '-')}  {row.get('downloads', 0):,}"
        text = truncate(
            one_line(row.get("description", "")), terminal.width and max(20, terminal.width - width - len(facts) - 8)
        )
        yield f"{terminal.paint(sign, style)} {name}  {terminal.paint(facts, 'dim')}  {text}"
    if page.get("next"):
        yield terminal.paint(f"more: --cursor {one_line(page['next'])}", "dim")


def _about(card: Mapping[str, Any], release: Mapping[str, Any], url: str, terminal: Terminal) -> Iterator[str]:
    yield f"{terminal.paint(one_line(card['name']), 'bold')} {one_line(release['version'])}"
    yield one_line(card.get("description", ""))
    details = release.get("details") or {}
    verdict = str(release.get("verdict", ""))
    signed = one_line(str(release.get("signed_by") or "")) or "nobody"
    rows = [
        ("owner", card.get("owner")), ("author", release.get("author")), ("licence", release.get("license")),
        ("published", f"{release.get('published')} by {release.get('publisher')}"),
        ("downloads", f"{card.get('downloads', 0):,}"),
        ("scan", terminal.paint(verdict, _SIGNS.get(verdict, ("", "dim"))[1])), ("signed by", signed),
        ("needs", details.get("compatibility")), ("may use", " ".join(details.get("allowed_tools") or [])),
        ("tokens", f"{details.get('tokens_metadata', 0)} listed, {details.get('tokens_body', 0)} active"),
        ("digest", release.get("digest")), ("status", card.get("status") if card.get("status") != "active" else ""),
        ("yanked", release.get("yank_reason") or "yes" if release.get("yanked") else ""),
    ]  # fmt: skip
    for label, value in rows:
        if value:
            yield f"  {label:<10} {value if label == 'scan' else one_line(str(value))}"
    for finding in release.get("findings") or []:
        where = f"{finding.get('file')}:{finding['line']}" if finding.get("line") else finding.get("file")
        message = one_line(str(finding.get("message")))
        yield f"  {one_line(str(where))}: {finding.get('severity')} {finding.get('rule')}: {message}"
    yield terminal.paint(f"metier skill install r9s:{card['name']}    {url}/skill/{card['name']}", "dim")


def _versions(answer: Mapping[str, Any], terminal: Terminal) -> Iterator[str]:
    tags: dict[str, list[str]] = {}
    for tag, version in answer.get("tags", {}).items():
        tags.setdefault(version, []).append(tag)
    for row in answer.get("versions", []):
        notes = [*tags.get(row["version"], []), *([f"signed by {row['signed_by']}"] if row.get("signed_by") else [])]
        line = f"{pad(one_line(row['version']), 12)} {str(row.get('published'))[:10]}  {one_line(' '.join(notes))}"
        if row.get("yanked"):
            line += terminal.paint(f"yanked: {one_line(row.get('yank_reason') or 'no reason given')}", "yellow")
        yield line.rstrip()
