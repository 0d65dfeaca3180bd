"""Stores of sessions: in memory, or in a database that several processes may use at once.

Every change is one transaction that reads, decides and writes, so two processes that share a session do not overwrite
each other's changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import UTC, datetime
from itertools import groupby
from typing import Protocol

from metier.errors import AmbiguousError, NotFoundError
from metier.values import dataclass, replace

from .activation import ActivatedBy, ActivationMode, ActiveSkill
from .database import SqlConnection, open_database
from .store_schema import StoreSchema
from .usage import PastAction, PastActionKind, Usage, UsageRow

__all__ = [
    "MOST_DEEDS", "MemorySessionStore", "SessionRows", "SessionStore", "SqlSessionStore", "StoredSession", "complete_id",
    "find_session",
]  # fmt: skip

MOST_DEEDS = 200
_MADE_ID = re.compile(r"[0-9a-f]{12}")
_SHORT_ID = re.compile(r"[0-9a-f]{4,11}")
_COLUMNS = tuple(each.name for each in fields(Usage))
_WHOLE = frozenset(each.name for each in fields(Usage) if each.type == "int")
_COUNTS = ", ".join(f"{name} {'bigint' if name in _WHOLE else 'double precision'} default 0" for name in _COLUMNS)
_SCHEMA = StoreSchema(
    "sessions",
    (
        f"""
        create table session (id {{text}} primary key, created {{text}}, updated {{text}});
        create table active (session {{text}}, place integer, "row" text, primary key (session, place)) {{clustered}};
        create table usage (session {{text}}, skill {{text}}, day {{text}}, {_COUNTS},
                            primary key (session, skill, day)) {{clustered}}
        """,
        """
        create table deed (session {text}, skill {text}, kind {text}, name {text}, times bigint, last {text},
                           primary key (session, skill, kind, name)) {clustered}
        """,
    ),
)


@dataclass(slots=True)
class SessionRows:
    """The active skills of one session during a change. Assign to `active`."""

    active: tuple[ActiveSkill, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    id: str
    created: datetime
    updated: datetime
    active: tuple[ActiveSkill, ...] = ()


class SessionStore(Protocol):
    """The conformance suite is `metier.testing.SessionStoreConformance`."""

    def active(self, session: str) -> tuple[ActiveSkill, ...]: ...

    def edit(self, session: str) -> AbstractContextManager[SessionRows]:
        """Locks a session from reading to writing. The rows are saved at the end of the block, unless it raises."""

    def sessions(self) -> tuple[StoredSession, ...]:
        """Returns all sessions, the most recently changed first."""

    def clear(self, session: str) -> bool:
        """Deletes a session and its usage. Returns False if there is none."""

    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None: ...

    def usage(self, session: str | None = None) -> tuple[UsageRow, ...]: ...

    def add_deeds(self, session: str, deeds: Iterable[PastAction]) -> None:
        """Adds what skills did, up to MOST_DEEDS names of each skill and kind in a session."""

    def deeds(self) -> tuple[PastAction, ...]:
        """Returns what skills did in all sessions, sorted by skill, kind and name."""


class MemorySessionStore:
    """For sessions that end with the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, StoredSession] = {}
        self._usage: dict[tuple[str, str, str], Usage] = {}
        self._deeds: dict[tuple[str, str, str, str], PastAction] = {}

    def active(self, session: str) -> tuple[ActiveSkill, ...]:
        stored = self._sessions.get(session)
        return stored.active if stored else ()

    @contextlib.contextmanager
    def edit(self, session: str) -> Iterator[SessionRows]:
        with self._lock:
            before = self.active(session)
            rows = SessionRows(before)
            yield rows
            if rows.active != before:
                now = datetime.now(UTC)
                created = self._sessions[session].created if session in self._sessions else now
                self._sessions[session] = StoredSession(id=session, created=created, updated=now, active=rows.active)

    def sessions(self) -> tuple[StoredSession, ...]:
        return tuple(sorted(self._sessions.values(), key=lambda stored: stored.updated, reverse=True))

    def clear(self, session: str) -> bool:
        with self._lock:
            self._usage = {key: usage for key, usage in self._usage.items() if key[0] != session}
            self._deeds = {key: deed for key, deed in self._deeds.items() if key[0] != session}
            return self._sessions.pop(session, None) is not None

    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None:
        with self._lock:
            self._usage[session, skill, day] = self._usage.get((session, skill, day), Usage()) + usage

    def usage(self, session: str | None = None) -> tuple[UsageRow, ...]:
        return tuple(
            UsageRow(session=owner, skill=skill, day=day, usage=usage)
            for (owner, skill, day), usage in sorted(self._usage.items())
            if session in (None, owner)
        )

    def add_deeds(self, session: str, deeds: Iterable[PastAction]) -> None:
        with self._lock:
            for one in deeds:
                key = (session, one.skill, one.kind.value, one.name)
                before = self._deeds.get(key)
                if before is not None:
                    last = max(one.last, before.last)
                    self._deeds[key] = replace(before, times=before.times + one.times, last=last)
                elif sum(known[:3] == key[:3] for known in self._deeds) < MOST_DEEDS:
                    self._deeds[key] = one

    def deeds(self) -> tuple[PastAction, ...]:
        with self._lock:
            rows = sorted(self._deeds.values(), key=lambda one: (one.skill, one.kind, one.name))
        groups = (list(same) for _, same in groupby(rows, key=lambda one: (one.skill, one.kind, one.name)))
        return tuple(
            replace(same[0], times=sum(one.times for one in same), last=max(one.last for one in same)) for same in groups
        )


class SqlSessionStore:
    """Sessions in a SQLite file, or in PostgreSQL if `location` is `postgresql://…`. Opened on first use; see `Database`."""

    def __init__(self, location: str | os.PathLike[str], *, timeout: float = 5.0) -> None:
        self._db = open_database(location, _SCHEMA, timeout=timeout)

    @property
    def location(self) -> str:
        """The file, or the address without user and password."""
        return self._db.location

    @property
    def damaged_copy(self) -> str | None:
        """The new path of a damaged file, if there was one."""
        return self._db.damaged_copy

    def active(self, session: str) -> tuple[ActiveSkill, ...]:
        with self._db.read() as db:
            return _read_active(db, session)

    @contextlib.contextmanager
    def edit(self, session: str) -> Iterator[SessionRows]:
        with self._db.write(f"session {session}") as db:
            before = _read_active(db, session)
            rows = SessionRows(before)
            yield rows
            if rows.active != before:
                _write_active(db, session, rows.active)

    def sessions(self) -> tuple[StoredSession, ...]:
        with self._db.read() as db:
            rows = db.execute("select id, created, updated from session order by updated desc, id").fetchall()
            return tuple(
                StoredSession(
                    id=each,
                    created=datetime.fromisoformat(created),
                    updated=datetime.fromisoformat(updated),
                    active=_read_active(db, each),
                )
                for each, created, updated in rows
            )

    def clear(self, session: str) -> bool:
        with self._db.write(f"session {session}") as db:
            db.execute("delete from active where session = ?", (session,))
            db.execute("delete from usage where session = ?", (session,))
            db.execute("delete from deed where session = ?", (session,))
            return db.execute("delete from session where id = ?", (session,)).rowcount > 0

    def add_usage(self, session: str, skill: str, day: str, usage: Usage) -> None:
        added = ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in _COLUMNS)
        marks = ", ".join("?" * (3 + len(_COLUMNS)))
        values = [getattr(usage, name) for name in _COLUMNS]
        with self._db.write(f"session {session}") as db:
            # The columns are our own names, never a caller's.
            db.execute(
                f"insert into usage values ({marks}) on conflict (session, skill, day) do update set {added}",  # noqa: S608
                (session, skill, day, *values),
            )

    def usage(self, session: str | None = None) -> tuple[UsageRow, ...]:
        with self._db.read() as db:
            rows = db.execute(
                "select * from usage where ? in ('', session) order by session, skill, day", (session or "",)
            ).fetchall()
        return tuple(
            UsageRow(session=owner, skill=skill, day=day, usage=Usage(**dict(zip(_COLUMNS, counts, strict=True))))
            for owner, skill, day, *counts in rows
        )

    def add_deeds(self, session: str, deeds: Iterable[PastAction]) -> None:
        with self._db.write(f"session {session}") as db:
            for one in deeds:
                key = (session, one.skill, one.kind.value, one.name)
                changed = db.execute(
                    "update deed set times = times + ?, last = case when last < ? then ? else last end"
                    " where session = ? and skill = ? and kind = ? and name = ?",
                    (one.times, one.last, one.last, *key),
                ).rowcount
                known = "select count(*) from deed where session = ? and skill = ? and kind = ?"
                if not changed and db.execute(known, key[:3]).fetchall()[0][0] < MOST_DEEDS:
                    db.execute("insert into deed values (?, ?, ?, ?, ?, ?)", (*key, one.times, one.last))

    def deeds(self) -> tuple[PastAction, ...]:
        with self._db.read() as db:
            rows = db.execute(
                "select skill, kind, name, cast(sum(times) as bigint), max(last) from deed"
                " group by skill, kind, name order by skill, kind, name"
            ).fetchall()
        return tuple(
            PastAction(skill=skill, kind=PastActionKind(kind), name=name, times=times, last=last)
            for skill, kind, name, times, last in rows
        )

    def close(self) -> None:
        self._db.close()


def complete_id(typed: str, known: Iterable[str]) -> str | None:
    """Returns the id that was typed, in full or shortened; None if there is none. AmbiguousError if several begin so.

    Only ids that we made can be shortened, to 4 or more letters: a name that the user chose is always typed in full.
    """
    ids = list(known)
    if typed in ids:
        return typed
    matching = [each for each in ids if _SHORT_ID.fullmatch(typed) and _MADE_ID.fullmatch(each) and each.startswith(typed)]
    if len(matching) > 1:
        raise AmbiguousError(f"several ids begin with {typed!r}", hint=f"type more of it: {', '.join(sorted(matching)[:5])}")
    return matching[0] if matching else None


def find_session(store: SessionStore, session: str) -> StoredSession:
    """Returns the session with this id, which may be shortened."""
    sessions = {stored.id: stored for stored in store.sessions()}
    found = complete_id(session, sessions)
    if found is not None:
        return sessions[found]
    raise NotFoundError(f"unknown session {session!r}", hint="see `metier session list`")


def _read_active(db: SqlConnection, session: str) -> tuple[ActiveSkill, ...]:
    rows = db.execute('select "row" from active where session = ? order by place', (session,)).fetchall()
    return tuple(found for found in (_from_json(text) for (text,) in rows) if found is not None)


def _write_active(db: SqlConnection, session: str, active: Sequence[ActiveSkill]) -> None:
    now = datetime.now(UTC).isoformat()
    db.execute(
        "insert into session values (?, ?, ?) on conflict (id) do update set updated = excluded.updated", (session, now, now)
    )
    db.execute("delete from active where session = ?", (session,))
    db.executemany(
        "insert into active values (?, ?, ?)", [(session, place, _to_json(each)) for place, each in enumerate(active)]
    )


def _to_json(active: ActiveSkill) -> str:
    row = {each.name: getattr(active, each.name) for each in fields(ActiveSkill)}
    return json.dumps({**row, "since": active.since.isoformat(), "parameters": dict(active.parameters)})


def _from_json(text: str) -> ActiveSkill | None:
    """Returns None for a row that cannot be read: it was edited by hand, or another version wrote it."""
    try:
        row = json.loads(text)
        typed = {
            "since": datetime.fromisoformat(row["since"]),
            "by": ActivatedBy(row["by"]),
            "mode": ActivationMode(row["mode"]),
            "dependencies": tuple(row["dependencies"]),
        }
        return ActiveSkill(**{**row, **typed})
    except (ValueError, KeyError, TypeError):
        return None
