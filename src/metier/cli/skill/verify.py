"""`metier skill verify`, `outdated`, `pin` and `unpin`: what the lock promises, and whether it still holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad
from metier.errors import NotFoundError
from metier.install.fetch.lock_fetcher import LockFetcher
from metier.install.lock.verify import LockCondition
from metier.install.lock.verify import verify as verified
from metier.install.store import SkillStore
from metier.install.update import UpdateState, UpdateStatus
from metier.install.update import outdated as compared
from metier.values import replace

from .install_common import access_of, access_options, chosen_stores, entry_row, fetch_progress, owner_of, scope_options

__all__ = ["outdated", "pin", "unpin", "verify"]


@command("skill", "verify")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@scope_options
def verify(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Compare installed skills with the lock, byte for byte. Ends with 1 if something differs."""
    stores = _stores(app, names, project=project, user=user)
    found = [(store, verdict) for store, chosen in stores for verdict in verified(store, chosen)]
    unfinished = [store.scope.root for store, _ in stores if store.is_interrupted]
    rows = [
        {**entry_row(verdict.entry, store), "condition": verdict.condition, "details": list(verdict.details)}
        for store, verdict in found
    ]
    bad = [verdict for _, verdict in found if verdict.condition is not LockCondition.OK]

    def lines(terminal: Terminal) -> Iterator[str]:
        for verdict in bad:
            sign = terminal.paint("✗", "red")
            name = terminal.paint(one_line(verdict.entry.name), "bold")
            yield f"{sign} {name} is {verdict.condition}  {one_line(verdict.folder)}"
            yield from (f"    {one_line(detail)}" for detail in verdict.details)
        yield terminal.paint(f"{len(found) - len(bad)} of {len(found)} are as the lock says", "dim")

    notes = tuple(f"an installation in {root} was not finished; `metier doctor --repair` finishes it" for root in unfinished)
    return Result(data={"skills": rows, "ok": not bad}, lines=lines, status=1 if bad or unfinished else 0, notes=notes)


@command("skill", "outdated")
@click.argument("names", nargs=-1, shell_complete=skill_names)
@scope_options
@access_options
def outdated(app: App, *, names: tuple[str, ...], project: bool, user: bool, **access: Any) -> Result:
    """Ask the sources whether there is something newer, and change nothing.

    Each repository is asked once, all at the same time. Ends with 1 if something is outdated. A repository tells its newest
    commit; whether that changed this very skill is shown by `metier skill update --dry-run`.
    """
    # Any: what `access_options` parsed.
    found: list[tuple[SkillStore, UpdateStatus]] = []
    with fetch_progress() as progress:
        remotes = LockFetcher(access_of(app, **access), progress=progress)
        for store, chosen in _stores(app, names, project=project, user=user):
            found += [(store, fresh) for fresh in compared(store, remotes, chosen)]
    rows = [
        {**entry_row(fresh.entry, store), "age": fresh.age, "newest": fresh.commit, "note": fresh.note}
        for store, fresh in found
    ]
    old = [fresh for _, fresh in found if fresh.age is UpdateState.OUTDATED]

    def lines(terminal: Terminal) -> Iterator[str]:
        width = max((len(fresh.entry.name) for _, fresh in found), default=0)
        for _, fresh in found:
            if fresh.age is UpdateState.CURRENT:
                continue
            was, now = fresh.entry.origin.commit[:10] or fresh.entry.digest[7:17], fresh.commit[:10] or "another"
            what = fresh.note if fresh.age is UpdateState.UNKNOWN else f"{was} -> {now}"
            style = {"outdated": "yellow", "pinned": "dim"}.get(fresh.age, "red")
            yield f"{terminal.paint(f'{fresh.age:<8}', style)} {pad(one_line(fresh.entry.name), width)}  {one_line(what)}"
        yield terminal.paint(f"{len(old)} of {len(found)} outdated", "dim")

    return Result(data={"skills": rows, "outdated": len(old)}, lines=lines, status=1 if old else 0)


@command("skill", "pin")
@click.argument("names", nargs=-1, required=True, shell_complete=skill_names)
@scope_options
def pin(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Keep installed skills at the version they have; `update` leaves them alone."""
    return _pinned(app, names, pinned=True, project=project, user=user)


@command("skill", "unpin")
@click.argument("names", nargs=-1, required=True, shell_complete=skill_names)
@scope_options
def unpin(app: App, *, names: tuple[str, ...], project: bool, user: bool) -> Result:
    """Let `update` take newer versions again."""
    return _pinned(app, names, pinned=False, project=project, user=user)


def _pinned(app: App, names: Sequence[str], *, pinned: bool, project: bool, user: bool) -> Result:
    stores = chosen_stores(app, project=project, user=user)
    owners = [(owner_of(stores, name), name) for name in names]
    for store, name in owners:
        store.change([name], lambda entry: replace(entry, pinned=pinned))
    lines = [one_line(f"{name} is pinned" if pinned else f"{name} is not pinned") for _, name in owners]
    return Result(data={"names": list(names), "pinned": pinned}, lines=lambda _: lines)


def _stores(app: App, names: Sequence[str], *, project: bool, user: bool) -> list[tuple[SkillStore, list[str]]]:
    stores = chosen_stores(app, project=project, user=user)
    if not names:
        if not any(len(store.lock()) for store in stores):
            raise NotFoundError("nothing is installed here", hint="see `metier skill install --help`")
        return [(store, []) for store in stores if len(store.lock())]
    owners = {name: owner_of(stores, name) for name in names}
    groups = [(store, [name for name in names if owners[name] is store]) for store in stores]
    return [(store, chosen) for store, chosen in groups if chosen]
