"""Where sessions are kept: in memory, or in one SQLite file that several processes may use at once.

Every change is one transaction that reads, decides and writes, so two processes of one session never lose each
other's skills.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import UTC, datetime
from typing import Protocol

from metier.values import dataclass

from .activation import ActivatedBy, ActivationMode, ActiveSkill
from .database import Database
from .usage import Usage

__all__ = ["MemorySessionStore", "SessionRows", "SessionStore", "SqliteSessionStore", "StoredSession", "UsageRow"]

_VERSION = 1
_COLUMNS = tuple(each.name for each in fields(Usage))
_SCHEMA = f"""
create table session (id text primary key, created text, updated text);
create table active (session text, place integer, row text, primary key (session, place)) without rowid;
create table usage (session text, skill text, day text, {", ".join(f"{name} numeric default 0" for name in _COLUMNS)},
                    primary key (session, skill, day)) without rowid;
"""


@dataclass(slots=True)
class SessionRows:
    """The active skills of one session, while they are being changed. Assign to `active`."""

    active: tuple[ActiveSkill, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """One session as a list shows it: its id, its skills, since when."""

    id: str
    created: datetime
    updated: datetime
    active: tuple[ActiveSkill, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    session: str
    skill: str
    day: str
    usage: Usage


class SessionStore(Protocol):
    """The conformance suite is `metier.testing.StoreConformance`."""

    def active(self, session: str) -> tuple[ActiveSkill, ...]: ...

    def edit(self, session: str) -> AbstractContextManager[SessionRows]:
        """Alone with a session from reading to writing. What the draft holds at the end is kept, unless an error came."""

    def sessions(self) -> tuple[StoredSession, ...]:
        """All of them, the most recently changed first."""

    def clear(self, session: str) -> bool:
        """Forget a session and what it used; False if there was none."""

    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None: ...

    def usage(self, session: str | None = None) -> tuple[UsageRow, ...]: ...


class MemorySessionStore:
    """For a session that ends with its process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, StoredSession] = {}
        self._usage: dict[tuple[str, str, str], Usage] = {}

    def active(self, session: str) -> tuple[ActiveSkill, ...]:
        kept = self._sessions.get(session)
        return kept.active if kept else ()

    @contextlib.contextmanager
    def edit(self, session: str) -> Iterator[SessionRows]:
        with self._lock:
            before = self.active(session)
            draft = SessionRows(before)
            yield draft
            if draft.active != before:
                now = datetime.now(UTC)
                created = self._sessions[session].created if session in self._sessions else now
                self._sessions[session] = StoredSession(id=session, created=created, updated=now, active=draft.active)

    def sessions(self) -> tuple[StoredSession, ...]:
        return tuple(sorted(self._sessions.values(), key=lambda kept: kept.updated, reverse=True))

    def clear(self, session: str) -> bool:
        with self._lock:
            self._usage = {key: usage for key, usage in self._usage.items() if key[0] != session}
            return self._sessions.pop(session, None) is not None

    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None:
        with self._lock:
            self._usage[session, skill, day] = self._usage.get((session, skill, day), Usage()) + usage

    def usage(self, session: str | None = None) -> tuple[UsageRow, ...]:
        rows = sorted(self._usage.items())
        return tuple(
            UsageRow(session=key[0], skill=key[1], day=key[2], usage=usage) for key, usage in rows if session in (None, key[0])
        )


class SqliteSessionStore:
    """The file is opened by the first use, and may be used by several processes at once; see Database."""

    def __init__(self, file: str | os.PathLike[str], *, wait: float = 5.0) -> None:
        self._db = Database(file, schema=_SCHEMA, version=_VERSION, wait=wait)

    @property
    def file(self) -> str:
        return self._db.file

    @property
    def damaged_copy(self) -> str | None:
        """Where a damaged file was moved, if that happened."""
        return self._db.damaged_copy

    def active(self, session: str) -> tuple[ActiveSkill, ...]:
        with self._db.reading() as db:
            return _active(db, session)

    @contextlib.contextmanager
    def edit(self, session: str) -> Iterator[SessionRows]:
        with self._db.writing() as db:
            before = _active(db, session)
            draft = SessionRows(before)
            yield draft
            if draft.active != before:
                _keep(db, session, draft.active)

    def sessions(self) -> tuple[StoredSession, ...]:
        with self._db.reading() as db:
            rows = db.execute("select id, created, updated from session order by updated desc, id").fetchall()
            return tuple(
                StoredSession(id=each, created=_time(created), updated=_time(updated), active=_active(db, each))
                for each, created, updated in rows
            )

    def clear(self, session: str) -> bool:
        with self._db.writing() as db:
            db.execute("delete from active where session = ?", (session,))
            db.execute("delete from usage where session = ?", (session,))
            return db.execute("delete from session where id = ?", (session,)).rowcount > 0

    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None:
        added = ", ".join(f"{name} = {name} + excluded.{name}" for name in _COLUMNS)
        marks = ", ".join("?" * (3 + len(_COLUMNS)))
        values = [getattr(usage, name) for name in _COLUMNS]
        with self._db.writing() as db:
            # The columns are our own names, never a caller's.
            db.execute(f"insert into usage values ({marks}) on conflict do update set {added}", (session, skill, day, *values))  # noqa: S608

    def usage(self, session: str | None = None) -> tuple[UsageRow, ...]:
        with self._db.reading() as db:
            rows = db.execute(
                "select * from usage where ? in ('', session) order by session, skill, day", (session or "",)
            ).fetchall()
        return tuple(
            UsageRow(session=row[0], skill=row[1], day=row[2], usage=Usage(**dict(zip(_COLUMNS, row[3:], strict=True))))
            for row in rows
        )

    def close(self) -> None:
        self._db.close()


def _active(db: sqlite3.Connection, session: str) -> tuple[ActiveSkill, ...]:
    rows = db.execute("select row from active where session = ? order by place", (session,)).fetchall()
    return tuple(found for found in (_row(row[0]) for row in rows) if found is not None)


def _keep(db: sqlite3.Connection, session: str, active: Sequence[ActiveSkill]) -> None:
    now = datetime.now(UTC).isoformat()
    db.execute("insert into session values (?, ?, ?) on conflict do update set updated = excluded.updated", (session, now, now))
    db.execute("delete from active where session = ?", (session,))
    db.executemany("insert into active values (?, ?, ?)", [(session, place, _text(each)) for place, each in enumerate(active)])


def _text(active: ActiveSkill) -> str:
    row = {each.name: getattr(active, each.name) for each in fields(ActiveSkill)}
    return json.dumps({**row, "since": active.since.isoformat(), "parameters": dict(active.parameters)})


def _row(text: str) -> ActiveSkill | None:
    try:
        row = json.loads(text)
        read = {
            "since": _time(row["since"]),
            "by": ActivatedBy(row["by"]),
            "mode": ActivationMode(row["mode"]),
            "dependencies": tuple(row["dependencies"]),
        }
        return ActiveSkill(**{**row, **read})
    except (ValueError, KeyError, TypeError):
        # Written by hand, or by nobody: what cannot be read is not active.
        return None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
