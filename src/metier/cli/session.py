"""`metier session`: which conversations are kept, and what is active in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from metier.app import App
from metier.errors import NotFoundError, UsageError
from metier.runtime import ActiveSkill, SqliteSessionStore, StoredSession

from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, cell_width, one_line, pad

__all__ = ["clear", "list_sessions", "show"]


@command("session", "list")
def list_sessions(app: App) -> Result:
    """List the sessions that are kept, the most recently used first."""
    kept = app.sessions.store.sessions()

    def lines(terminal: Terminal) -> Iterator[str]:
        if not kept:
            yield "no session is kept yet"
        widest = max((cell_width(one_line(each.id)) for each in kept), default=0)
        for each in kept:
            names = ", ".join(row.name for row in each.active) or terminal.paint("nothing active", "dim")
            yield f"{terminal.paint(pad(one_line(each.id), widest), 'bold')}  {_when(each.updated)}  {one_line(names)}"

    return Result(data={"sessions": [_row(each) for each in kept]}, lines=lines, notes=_notes(app.sessions.store))


@command("session", "show")
@click.argument("session_id", metavar="ID")
def show(app: App, *, session_id: str) -> Result:
    """Show what is active in a session: since when, by whom and for how long."""
    found = _found(app, session_id)
    used = [each for each in app.sessions.store.usage(session_id) if each.skill]

    def lines(terminal: Terminal) -> Iterator[str]:
        yield f"{terminal.paint(one_line(found.id), 'bold')}  since {_when(found.created)}"
        if not found.active:
            yield "  nothing is active"
        widest = max((cell_width(row.name) for row in found.active), default=0)
        for row in found.active:
            how = f"by {row.by}, {row.mode}{', pinned' if row.pinned else ''}, {row.tokens:,} tokens"
            yield f"  {pad(one_line(row.name), widest)}  {_when(row.since)}  {how}"
        if used:
            tokens, seconds = sum(each.usage.tokens for each in used), sum(each.usage.seconds for each in used)
            yield terminal.paint(f"  {tokens:,} tokens given to models, {seconds:.1f} s of scripts", "dim")

    return Result(data=_row(found), lines=lines, notes=_notes(app.sessions.store))


@command("session", "clear")
@click.argument("session_id", metavar="ID", required=False)
@click.option("--all", "everything", is_flag=True, help="Forget every session.")
def clear(app: App, *, session_id: str | None, everything: bool) -> Result:
    """Forget a session and what it used. Nothing of the skills themselves is touched."""
    if everything == bool(session_id):
        raise UsageError("name one session, or say --all", hint="`metier session list` shows them")
    names = [each.id for each in app.sessions.store.sessions()] if everything else [_found(app, session_id or "").id]
    for name in names:
        app.sessions.store.clear(name)
    line = f"cleared {', '.join(map(one_line, names))}" if names else "there was nothing to clear"
    return Result(data={"cleared": names}, lines=lambda _: (line,), notes=_notes(app.sessions.store))


def _found(app: App, session_id: str) -> StoredSession:
    for kept in app.sessions.store.sessions():
        if kept.id == session_id:
            return kept
    raise NotFoundError(f"no session is named {session_id!r}", hint="see `metier session list`")


def _row(kept: StoredSession) -> dict[str, Any]:
    return {
        "id": kept.id,
        "created": kept.created.isoformat(),
        "updated": kept.updated.isoformat(),
        "active": [_active_row(row) for row in _by_use(kept.active)],
    }


def _active_row(row: ActiveSkill) -> dict[str, Any]:
    return {
        "name": row.name,
        "folder": row.folder,
        "since": row.since.isoformat(),
        "by": row.by,
        "mode": row.mode,
        "pinned": row.pinned,
        "arguments": row.arguments,
        "parameters": dict(row.parameters),
        "tokens": row.tokens,
    }


def _by_use(rows: Sequence[ActiveSkill]) -> list[ActiveSkill]:
    return sorted(rows, key=lambda row: -row.last_use)


def _when(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def _notes(store: SqliteSessionStore) -> tuple[str, ...]:
    moved = store.damaged_copy
    return (f"{store.file} was damaged and has been set aside as {moved}; sessions begin anew",) if moved else ()
