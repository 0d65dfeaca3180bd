"""The metadata cache: the parsed frontmatter of every SKILL.md, so that an unchanged file is not read or parsed again.

It is one SQLite file with one row per skill folder, valid while the file's time and size are the same. Several processes
may use it at once. If it is locked, corrupt, read-only or of another version, discovery is slower and the result the same.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any, NamedTuple, TypeVar

from metier.catalog import Offer

from .sqlite_file import delete_cache, open_cache

__all__ = ["MetadataCache", "TextRow"]

_VERSION = 5
"""Another one deletes the rows of earlier versions. Also raised if `read_references` finds something else."""
_SCHEMA = """
create table if not exists skill (
    folder text primary key, mtime integer not null, size integer not null, name text not null, description text not null,
    flags integer not null, needs text not null, fields text not null, problems text not null
) without rowid;
create table if not exists reference (
    folder text primary key, mtime integer not null, size integer not null, named text not null
) without rowid;
"""
_ROWS = """
select folder, mtime, size, name, description, flags, needs, fields, problems
from skill where folder > ? and folder < ? order by folder
"""
_FRESH_NS = 50_000_000
"""A younger file is not cached, because another change within the same clock tick would not show in its time."""

T = TypeVar("T")


class TextRow(NamedTuple):
    """A text about a SKILL.md of this time and size."""

    folder: str
    mtime_ns: int
    size: int
    text: str


class MetadataCache:
    def __init__(self, file: str) -> None:
        self.file = file

    def load(self, root: str) -> list[Offer]:
        """Returns the cached offers below `root`, sorted by folder."""
        if not os.path.exists(self.file):
            return []
        root = root.rstrip("/")
        try:
            # "0" is the character after "/", so this is a range scan over the primary key.
            rows: list[tuple[Any, ...]] = self._try(lambda db: db.execute(_ROWS, (f"{root}/", f"{root}0")).fetchall(), [])
        except UnicodeEncodeError:
            # A folder whose path is not UTF-8 has no rows.
            return []
        return list(map(Offer._make, rows))

    def save(self, offers: Iterable[Offer], *, removed: Iterable[str]) -> None:
        """Stores these offers and deletes the rows of removed folders, in one transaction."""
        limit = time.time_ns() - _FRESH_NS
        rows = [offer for offer in offers if offer.mtime_ns < limit]
        deleted = [(folder,) for folder in removed]
        if not rows and not deleted:
            return

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("delete from skill where folder = ?", deleted)
                db.executemany("insert or replace into skill values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

        try:
            self._try(write, None)
        except UnicodeEncodeError:
            # A folder whose path is not UTF-8 cannot be stored; the others can.
            rows = [offer for offer in rows if _is_storable(offer)]
            self._try(write, None)

    def load_references(self) -> dict[str, TextRow]:
        """Returns what the texts of skills name, by folder."""
        if not os.path.exists(self.file):
            return {}
        rows: list[tuple[Any, ...]] = self._try(lambda db: db.execute("select * from reference").fetchall(), [])
        return {row[0]: TextRow._make(row) for row in rows}

    def save_references(self, rows: Iterable[TextRow]) -> None:
        """Stores what the texts of these skills name, and deletes the rows of skills that are gone."""
        limit = time.time_ns() - _FRESH_NS
        kept = [row for row in rows if row.mtime_ns < limit and _is_storable(row)]

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("insert or replace into reference values (?, ?, ?, ?)", kept)
                db.execute("delete from reference where folder not in (select folder from skill)")

        self._try(write, None)

    def _try(self, use: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        try:
            with closing(self._open()) as db:
                return use(db)
        except sqlite3.OperationalError:
            # Locked by another process, read-only, or a full disk.
            return otherwise
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            delete_cache(self.file)
            return otherwise
        except OSError:
            return otherwise

    def _open(self) -> sqlite3.Connection:
        db = open_cache(self.file, timeout=1.0)
        try:
            _prepare(db)
        except BaseException:
            db.close()
            raise
        return db


def _prepare(db: sqlite3.Connection) -> None:
    version = db.execute("pragma user_version").fetchone()[0]
    if version != _VERSION:
        # Larger pages write ten thousand rows 25 % faster; the pragma works only before the first table.
        db.execute("pragma page_size = 16384")
        db.executescript(
            f"drop table if exists skill; drop table if exists reference; {_SCHEMA} pragma user_version = {_VERSION};"
        )


def _is_storable(row: Offer | TextRow) -> bool:
    try:
        "".join(cell for cell in row if isinstance(cell, str)).encode()
    except UnicodeEncodeError:
        return False
    return True
