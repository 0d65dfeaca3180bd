"""`metier session`: list, show and clear stored sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click

from metier.app import App
from metier.errors import UsageError
from metier.runtime import SqlSessionStore, StoredSession, find_session

from .completion import session_ids
from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, cell_width, one_line, pad, plural

__all__ = ["clear", "list_sessions", "show"]


@command("session", "list")
def list_sessions(app: App) -> Result:
    """List stored sessions, the most recently used first."""
    sessions = app.sessions.store.sessions()

    def lines(terminal: Terminal) -> Iterator[str]:
        if not sessions:
            yield "No sessions"
        widest = max((cell_width(one_line(each.id)) for each in sessions), default=0)
        for each in sessions:
            names = ", ".join(row.name for row in each.active) or terminal.paint("no active skills", "dim")
            yield f"{terminal.paint(pad(one_line(each.id), widest), 'bold')}  {_local_time(each.updated)}  {one_line(names)}"

    return Result(data={"sessions": [_session_row(each) for each in sessions]}, lines=lines, notes=_notes(app.sessions.store))


@command("session", "show")
@click.argument("session_id", metavar="ID", shell_complete=session_ids)
def show(app: App, *, session_id: str) -> Result:
    """Show the active skills of a session: since when, activated by whom, and for how long."""
    session = find_session(app.sessions.store, session_id)
    used = [each.usage for each in app.sessions.store.usage(session.id) if each.skill]

    def lines(terminal: Terminal) -> Iterator[str]:
        yield f"{terminal.paint(one_line(session.id), 'bold')}  created {_local_time(session.created)}"
        if not session.active:
            yield "  No active skills"
        widest = max((cell_width(row.name) for row in session.active), default=0)
        for row in session.active:
            how = f"by {row.by}, {row.mode}{', pinned' if row.pinned else ''}, {plural(row.tokens, 'token')}"
            yield f"  {pad(one_line(row.name), widest)}  {_local_time(row.since)}  {how}"
        if used:
            tokens, seconds = sum(each.tokens for each in used), sum(each.seconds for each in used)
            yield terminal.paint(f"  {plural(tokens, 'token')} given to models, {seconds:.1f} s of scripts", "dim")

    return Result(data=_session_row(session), lines=lines, notes=_notes(app.sessions.store))


@command("session", "clear")
@click.argument("session_id", metavar="ID", required=False, shell_complete=session_ids)
@click.option("--all", "everything", is_flag=True, help="Clear all sessions.")
def clear(app: App, *, session_id: str | None, everything: bool) -> Result:
    """Delete a session and its usage. Skills are not changed."""
    if everything == bool(session_id):
        raise UsageError("name a session, or use --all", hint="see `metier session list`")
    store = app.sessions.store
    names = [each.id for each in store.sessions()] if everything else [find_session(store, session_id or "").id]
    for name in names:
        store.clear(name)
    line = f"Cleared {', '.join(map(one_line, names))}" if names else "No sessions"
    return Result(data={"cleared": names}, lines=lambda _: (line,), notes=_notes(store))


def _session_row(session: StoredSession) -> dict[str, Any]:
    return {
        "id": session.id,
        "created": session.created.isoformat(),
        "updated": session.updated.isoformat(),
        "active": [
            {
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
            for row in sorted(session.active, key=lambda row: -row.last_use)
        ],
    }


def _local_time(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def _notes(store: SqlSessionStore) -> tuple[str, ...]:
    copy = store.damaged_copy
    return (f"{store.location} was damaged and is now {copy}; a new file was created",) if copy else ()
