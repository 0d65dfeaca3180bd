"""What SKILL.md files said last time, so that an unchanged file is never read again.

One SQLite file, one row for each skill folder, good as long as the file's time and size are the same. It is only a
cache: two processes may use it at once, and whatever goes wrong with it (locked, corrupt, read-only, written by
another version) costs time and never an answer.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, TypeVar

from metier.catalog import Offer

__all__ = ["MetadataCache"]

_VERSION = 2
_SCHEMA = """
create table if not exists skill (
    folder text primary key, mtime integer not null, size integer not null, name text not null, description text not null,
    flags integer not null, needs text not null, head text not null, problems text not null
) without rowid;
"""
_ROWS = """
select folder, mtime, size, name, description, flags, needs, head, problems
from skill where folder > ? and folder < ? order by folder
"""
_FRESH_NS = 50_000_000
"""A file this young may change again within the same tick of its clock, and we would not see it: do not remember it yet."""

T = TypeVar("T")


class MetadataCache:
    def __init__(self, file: str) -> None:
        self.file = file

    def under(self, root: str) -> list[Offer]:
        """Everything remembered below `root`, in the order of folders."""
        if not os.path.exists(self.file):
            return []
        root = root.rstrip("/")
        try:
            # "0" is the character after "/": a range scan over the primary key.
            rows: list[tuple[Any, ...]] = self._try(lambda db: db.execute(_ROWS, (f"{root}/", f"{root}0")).fetchall(), [])
        except UnicodeEncodeError:
            # A folder whose name is not UTF-8 has no rows.
            return []
        return list(map(Offer._make, rows))

    def keep(self, offers: Iterable[Offer], gone: Iterable[str]) -> None:
        """Remember these and forget those, all or nothing."""
        limit = time.time_ns() - _FRESH_NS
        rows = [offer for offer in offers if offer[1] < limit]
        removed = [(folder,) for folder in gone]
        if not rows and not removed:
            return

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("delete from skill where folder = ?", removed)
                db.executemany("insert or replace into skill values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

        try:
            self._try(write, None)
        except UnicodeEncodeError:
            # A folder whose name is not UTF-8 cannot be a row; the others can.
            rows = [offer for offer in rows if _is_storable(offer)]
            self._try(write, None)

    def _try(self, use: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        try:
            with closing(self._open()) as db:
                return use(db)
        except sqlite3.OperationalError:
            # Locked by another process, read-only, or a full disk: somebody else's cache, or none, is fine.
            return otherwise
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            self._discard()
            return otherwise
        except OSError:
            return otherwise

    def _open(self) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(self.file) or ".", mode=0o700, exist_ok=True)
        db = sqlite3.connect(self.file, timeout=1.0, isolation_level="IMMEDIATE")
        try:
            _prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _discard(self) -> None:
        for suffix in ("", "-journal", "-wal", "-shm"):
            try:
                os.unlink(self.file + suffix)
            except OSError:
                pass


def _prepare(db: sqlite3.Connection) -> None:
    # Derived data: losing it in a power cut costs one slow start, and waiting for the disk would cost every start.
    db.execute("pragma synchronous = off")
    db.execute("pragma journal_mode = memory")
    version = db.execute("pragma user_version").fetchone()[0]
    if version != _VERSION:
        # Larger pages write ten thousand rows a quarter faster; it only counts before the first table.
        db.execute("pragma page_size = 16384")
        db.executescript(f"drop table if exists skill; {_SCHEMA} pragma user_version = {_VERSION};")


def _is_storable(offer: Offer) -> bool:
    try:
        "".join((offer[0], offer[3], offer[4], offer[7])).encode()
    except UnicodeEncodeError:
        return False
    return True
