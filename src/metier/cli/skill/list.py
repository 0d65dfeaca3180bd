"""`metier skill list`: every skill on this machine, with its state."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click

from metier.app import App
from metier.catalog import Catalog, Entry, Source, State
from metier.cli.core.dispatch import command
from metier.cli.core.entry_rows import count_by_state, entry_lines, entry_row, glyph
from metier.cli.core.listing_cache import record_commands, record_inputs
from metier.cli.core.renderer import envelope
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.sources import CatalogUpdate
from metier.values import replace

from .list_all import other_places, scope_of

__all__ = ["list_skills"]


@command("skill", "list")
@click.argument("globs", nargs=-1)
@click.option(
    "--source",
    type=click.Choice([source.value for source in Source]),
    multiple=True,
    help="Only skills from this source; repeatable.",
)
@click.option(
    "--state", type=click.Choice([state.value for state in State]), multiple=True, help="Only skills in this state; repeatable."
)
@click.option("--tag", "tags", multiple=True, help="Only skills with this tag; repeatable.")
@click.option(
    "--all", "show_all", is_flag=True, help="Also skills of other folders of the repository and of installed packages."
)
@click.option("--limit", type=click.IntRange(min=1), help="Show at most this many.")
@click.option("--watch", is_flag=True, help="Keep running and print what changes.")
def list_skills(
    app: App, *, globs: tuple[str, ...], source: tuple[str, ...], state: tuple[str, ...], tags: tuple[str, ...],
    show_all: bool, limit: int | None, watch: bool,
) -> Result:  # fmt: skip
    """List every skill on this machine with its state.

    GLOBS filter by name: `metier skill list 'pdf-*'`. A skill is enabled (✓), disabled (○), unavailable (✗, something is
    missing), shadowed (≡, another source has the same name), untrusted (?, in a folder that is not trusted) or skipped (!).
    With --all each skill of the project is shown with the folder below which it applies.
    """

    def wanted(entry: Entry) -> bool:
        return (
            (not source or entry.source in source)
            and (not state or entry.state in state)
            and (not globs or any(fnmatchcase(entry.name, glob) for glob in globs))
            and (not tags or bool(set(tags) & set(entry.manifest.extensions.tags)))
        )

    if watch:
        _watch(app, wanted)
    record_inputs(app)
    catalog = app.catalog
    record_commands(app.skills.machine.commands)
    selects = bool(globs or source or state or tags)
    entries = tuple(filter(wanted, catalog.entries)) if selects else catalog.entries
    visibility = app.installation.visibility
    # Packages, installed or importable, and unreadable files take longer to check than a cached listing saves.
    cacheable = (
        not app.settings.strings("skills.packages")
        and not app.skills.machine.packages
        and not any(map(_is_unreadable, catalog.entries))
    )
    if show_all:
        return _all(app, _result(entries, catalog, limit, _with_scope(app), cacheable=False), wanted)
    return _result(entries, catalog, limit, visibility.hosts_of, cacheable=cacheable)


def _with_scope(app: App) -> Callable[[str], tuple[str, ...]]:
    def labels(folder: str) -> tuple[str, ...]:
        scope = scope_of(app, folder)
        return (*((scope,) if scope else ()), *app.installation.visibility.hosts_of(folder))

    return labels


def _all(app: App, result: Result, wanted: Callable[[Entry], bool]) -> Result:
    others = other_places(app, wanted)
    rows = [
        {**row, "agents": list(app.installation.visibility.hosts_of(row["folder"])), "scope": scope_of(app, row["folder"])}
        for row in result.data["skills"]
    ]

    def lines(terminal: Terminal) -> Iterator[str]:
        yield from result.lines(terminal)
        yield from others.lines(terminal)

    return replace(result, data={**result.data, "skills": rows, **others.data()}, lines=lines)


def _is_unreadable(entry: Entry) -> bool:
    return '"SK015"' in entry.offer.problems


def _result(
    entries: Sequence[Entry], catalog: Catalog, limit: int | None, agents: Callable[[str], tuple[str, ...]], *, cacheable: bool
) -> Result:
    seen = entries[:limit] if limit else entries
    rows = [{**entry_row(entry), "agents": list(agents(entry.folder))} for entry in seen]
    data = {"skills": rows, "shown": len(seen), "found": len(entries)}

    def lines(terminal: Terminal) -> Iterator[str]:
        if not entries:
            yield "No matching skills" if catalog.entries else "No skills yet; create one with `metier skill create NAME`"
            return
        yield from entry_lines(seen, terminal, agents)
        rest = f"; {len(entries) - len(seen):,} more; use a higher --limit to see them" if len(seen) < len(entries) else ""
        yield terminal.paint(f"{count_by_state(seen)}{rest}", "dim")

    return Result(data=data, lines=lines, notes=catalog.warnings, pages=True, cacheable=cacheable)


def _watch(app: App, wanted: Any) -> None:  # Any: a predicate over entries
    """Prints the list, then a line (or an envelope) for each change, until interrupted."""
    as_json = "--json" in sys.argv
    terminal = Terminal.of()
    for update in app.skills.watch():
        sys.stdout.buffer.write(_update_bytes(update, wanted, terminal, as_json=as_json))
        sys.stdout.buffer.flush()


def _update_bytes(update: CatalogUpdate, wanted: Any, terminal: Terminal, *, as_json: bool) -> bytes:  # Any: see _watch
    if as_json:
        changes = [{"kind": change.kind, **entry_row(change.entry)} for change in update.changes if wanted(change.entry)]
        first = [entry_row(entry) for entry in update.catalog.entries if wanted(entry)] if not update.changes else None
        return envelope("skill list --watch", data={"changes": changes} if first is None else {"skills": first})
    if not update.changes:
        lines = [
            *entry_lines(tuple(filter(wanted, update.catalog.entries)), terminal),
            "Watching for changes; press Ctrl-C to stop",
        ]
    else:
        lines = [
            f"{change.kind:8} {glyph(change.entry.state, terminal)} {one_line(change.entry.name)} ({change.entry.source})"
            for change in update.changes
            if wanted(change.entry)
        ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
