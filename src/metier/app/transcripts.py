"""The transcripts of other agents on this machine, read through a cache: an unchanged session is not read again.

The cache holds requests of the user, so it is private like the transcripts, and forgets a session as soon as its transcript is
deleted.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from metier.hosts.transcripts import (
    TRANSCRIPT_AGENTS,
    Transcript,
    TranscriptFile,
    find_transcripts,
    summarize_transcript,
    transcript_events,
)
from metier.values import dataclass

if TYPE_CHECKING:
    from metier.config import Settings

    from .paths import Paths

__all__ = ["Transcripts"]

T = TypeVar("T")
_VERSION = 2
_BATCH = 200
_SHORTEST_ID = 4
_SCHEMA = "create table transcript (path text, session text, state text, data text, primary key (path, session)) without rowid"


@dataclass(frozen=True, kw_only=True)
class Transcripts:
    paths: Paths
    settings: Settings
    environment: Mapping[str, str]

    @property
    def is_enabled(self) -> bool:
        return self.settings.boolean("stats.transcripts")

    def files(self, agents: Collection[str] = ()) -> list[TranscriptFile]:
        """Returns the sessions of these agents, or of all, the newest first."""
        return find_transcripts(self.paths.user_home, self.environment, agents=agents or TRANSCRIPT_AGENTS)

    def find(self, typed: str, agents: Collection[str] = ()) -> list[TranscriptFile]:
        """Returns the sessions whose id begins so. Files are named by the id, so few of them are read."""
        if len(typed) < _SHORTEST_ID:
            return []
        near = [one for one in self.files(agents) if typed[:_SHORTEST_ID] in (one.session or os.path.basename(one.path))]
        return [one for one in near if self._id(one).startswith(typed)]

    def _id(self, file: TranscriptFile) -> str:
        return file.session or summarize_transcript(file, transcript_events(file)).id

    def read(self, *, agents: Collection[str] = (), since: float = 0.0) -> Iterator[Transcript]:
        """Yields the sessions that changed after `since`, the newest first. Nothing is read before the first is asked for."""
        found = self.files()
        cache = _TranscriptCache(self.paths.cache("transcripts.sqlite")) if self.settings.boolean("cache.enabled") else None
        if cache:
            cache.keep_only(found)
        wanted = [one for one in found if one.changed >= since and (not agents or one.agent in agents)]
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            known = cache.load(batch) if cache else {}
            new = []
            for file in batch:
                if (transcript := known.get(file)) is None:
                    transcript = summarize_transcript(file, transcript_events(file))
                    new.append((file, transcript))
                yield transcript
            if cache and new:
                cache.save(new)


class _TranscriptCache:
    """Any failure is the same as an empty cache."""

    def __init__(self, file: str) -> None:
        self._file = file

    def load(self, files: Iterable[TranscriptFile]) -> dict[TranscriptFile, Transcript]:
        def read(db: sqlite3.Connection) -> dict[TranscriptFile, Transcript]:
            query = "select data from transcript where path = ? and session = ? and state = ?"
            rows = ((file, db.execute(query, (file.path, file.session, file.state)).fetchone()) for file in files)
            return {file: Transcript.from_data(json.loads(row[0])) for file, row in rows if row}

        return self._try(read, {})

    def save(self, rows: Iterable[tuple[TranscriptFile, Transcript]]) -> None:
        values = [(file.path, file.session, file.state, json.dumps(transcript.data())) for file, transcript in rows]

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("insert or replace into transcript values (?, ?, ?, ?)", values)

        self._try(write, None)

    def keep_only(self, files: Iterable[TranscriptFile]) -> None:
        """Forgets every session that is not there any more."""

        def write(db: sqlite3.Connection) -> None:
            known = set(db.execute("select path, session from transcript"))
            gone = known - {(file.path, file.session) for file in files}
            if gone:
                with db:
                    db.executemany("delete from transcript where path = ? and session = ?", gone)

        self._try(write, None)

    def _try(self, use: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        from metier.sources import delete_cache, open_cache

        try:
            with closing(open_cache(self._file, timeout=1.0)) as db:
                if db.execute("pragma user_version").fetchone()[0] != _VERSION:
                    db.executescript(f"drop table if exists transcript; {_SCHEMA}; pragma user_version = {_VERSION};")
                # Deleted rows hold requests of the user.
                db.execute("pragma secure_delete = on")
                return use(db)
        except (sqlite3.OperationalError, OSError, UnicodeEncodeError):
            return otherwise
        except (sqlite3.DatabaseError, ValueError, TypeError):
            delete_cache(self._file)
            return otherwise
