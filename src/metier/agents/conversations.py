"""Conversations in a database: messages, answers, active skills and cost.

A turn is written twice: when it begins, with the user's message, and when it ends, whole, in one transaction. A process
that is killed in between loses that turn's answer and nothing else. The skills that are active *now* belong to the
session of the same id (see `metier.runtime`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol

from metier.errors import ConflictError, NotFoundError
from metier.runtime import SqlConnection, SqlDialect, StoreSchema, complete_id, open_database
from metier.values import dataclass, field

from .events import ModelUsage, TurnStatus

__all__ = ["ConversationMatch", "ConversationStore", "ConversationSummary", "SqlConversationStore", "Turn", "to_markdown"]

_SCHEMA = StoreSchema(
    "conversations",
    (
        """
        create table conversation (id {text} primary key, created {text}, updated {text}, agent text, version integer,
                           model text, title text, summary text default '', summarized integer default 0);
        create table turn (conversation {text}, number integer, started text, ended text, message text,
                           answer text default '', status text default '', reason text default '',
                           messages {bytes} default '[]', tokens integer default 0, active text default '[]',
                           usage text default '{}',
                           primary key (conversation, number)) {clustered};
        sqlite: create virtual table words using fts5(text, conversation unindexed, number unindexed, tokenize = 'trigram');
        postgresql: create table words (rowid bigint generated always as identity primary key, text text,
                           conversation {text}, number integer);
        postgresql: create index words_conversation on words (conversation)
        """,
    ),
)
_TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary:
    """A conversation without its turns."""

    id: str
    created: datetime
    updated: datetime
    title: str
    """The beginning of the first message."""
    turns: int = 0
    agent: str = ""
    version: int = 0
    model: str = ""
    usage: ModelUsage = field(default_factory=ModelUsage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    number: int
    started: datetime
    message: str
    answer: str = ""
    status: TurnStatus | None = None
    """None if the process ended during the turn."""
    reason: str = ""
    messages: bytes = b"[]"
    """The messages sent and received, as JSON of pydantic-ai."""
    tokens: int = 0
    """Of `messages`."""
    active: tuple[str, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationMatch:
    conversation: str
    number: int
    title: str
    text: str
    """The match with some text around it."""


class ConversationStore(Protocol):
    """The conformance suite is `metier.testing.ConversationStoreConformance`."""

    def hold(self, conversation: str) -> Callable[[], None]:
        """Keeps all other callers from running a turn until the returned function is called, or this process ends.

        Raises ConflictError if another one does.
        """

    def begin(self, conversation: str, message: str, *, agent: str = "", version: int = 0, model: str = "") -> int:
        """Stores the start of a turn and returns its number."""

    def finish(self, conversation: str, turn: Turn) -> None:
        """Stores a turn that has ended."""

    def turns(self, conversation: str) -> tuple[Turn, ...]:
        """Every turn, oldest first, unfinished ones included."""

    def get(self, conversation: str) -> ConversationSummary:
        """Returns the conversation with this id, which may be shortened; see `complete_id`."""

    def complete_id(self, typed: str) -> str | None:
        """Returns the id that was typed, in full or shortened to 4 or more letters. None if no conversation has it."""

    def recent(self, limit: int = 50) -> tuple[ConversationSummary, ...]:
        """The most recent first."""

    def search(self, text: str, limit: int = 20) -> tuple[ConversationMatch, ...]:
        """Messages and answers that hold this text, the latest first, ignoring case."""

    def summary(self, conversation: str) -> tuple[int, str]:
        """The last turn that was compacted, and the summary of all up to it."""

    def set_summary(self, conversation: str, last_turn: int, summary: str) -> None: ...

    def delete(self, conversation: str) -> bool:
        """Returns False if there is none."""


class SqlConversationStore:
    """Conversations in a SQLite file, or in PostgreSQL if `location` is `postgresql://…`. Opened on first use."""

    def __init__(self, location: str | os.PathLike[str], *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._db = open_database(location, _SCHEMA)
        self._clock = clock

    @property
    def damaged_copy(self) -> str | None:
        """The path that a damaged file was moved to, if it was."""
        return self._db.damaged_copy

    @property
    def location(self) -> str:
        """The file, or the address without user and password."""
        return self._db.location

    def hold(self, conversation: str) -> Callable[[], None]:
        end = self._db.try_hold(f"turn of {conversation}")
        if end is None:
            raise ConflictError(
                f"another process is running a turn of conversation {conversation!r}", hint="try again after its answer"
            )
        return end

    def begin(self, conversation: str, message: str, *, agent: str = "", version: int = 0, model: str = "") -> int:
        now, message = self._clock().isoformat(), _storable(message)
        title = " ".join(message.split())[:_TITLE]
        with self._db.write(f"conversation {conversation}") as db:
            db.execute(
                "insert into conversation (id, created, updated, agent, version, model, title) values (?, ?, ?, ?, ?, ?, ?) "
                "on conflict (id) do update set updated = excluded.updated, agent = excluded.agent, "
                "version = excluded.version, model = excluded.model",
                (conversation, now, now, agent, version, model, title),
            )
            last = db.execute("select coalesce(max(number), 0) from turn where conversation = ?", (conversation,)).fetchone()
            number = int(last[0]) + 1
            db.execute(
                "insert into turn (conversation, number, started, message) values (?, ?, ?, ?)",
                (conversation, number, now, message),
            )
            self._index(db, conversation, number, message)
        return number

    def finish(self, conversation: str, turn: Turn) -> None:
        now, answer = self._clock().isoformat(), _storable(turn.answer)
        with self._db.write(f"conversation {conversation}") as db:
            db.execute(
                "update turn set ended = ?, answer = ?, status = ?, reason = ?, messages = ?, tokens = ?, active = ?, "
                "usage = ? where conversation = ? and number = ?",
                (now, answer, turn.status or "", _storable(turn.reason), turn.messages, turn.tokens, json.dumps(turn.active),
                 json.dumps(asdict(turn.usage)), conversation, turn.number),
            )  # fmt: skip
            db.execute("update conversation set updated = ? where id = ?", (now, conversation))
            self._index(db, conversation, turn.number, answer)

    def turns(self, conversation: str) -> tuple[Turn, ...]:
        with self._db.read() as db:
            rows = db.execute(
                "select number, started, message, answer, status, reason, messages, tokens, active, usage from turn "
                "where conversation = ? order by number", (conversation,)
            ).fetchall()  # fmt: skip
        return tuple(_turn(row) for row in rows)

    def get(self, conversation: str) -> ConversationSummary:
        for found in self._summaries("where id = ?", self.complete_id(conversation) or conversation):
            return found
        raise NotFoundError(f"unknown conversation {conversation!r}", hint="see `metier chat --list`")

    def complete_id(self, typed: str) -> str | None:
        with self._db.read() as db:
            rows = db.execute("select id from conversation where id >= ? and id < ? || '~'", (typed, typed)).fetchall()
        return complete_id(typed, [row[0] for row in rows])

    def recent(self, limit: int = 50) -> tuple[ConversationSummary, ...]:
        return tuple(self._summaries("order by updated desc limit ?", limit))

    def search(self, text: str, limit: int = 20) -> tuple[ConversationMatch, ...]:
        text = _storable(text)
        # SQLite's index holds runs of three characters and takes % and _ for wildcards; other searches read every row.
        if self._db.dialect is SqlDialect.POSTGRESQL:
            where = "strpos(lower(words.text), lower(?)) > 0"
        elif len(text) >= 3 and not {"%", "_"} & set(text):
            where = "words.text like '%' || ? || '%'"
        else:
            where = "instr(lower(words.text), lower(?))"
        with self._db.read() as db:
            rows = db.execute(
                "select words.conversation, number, title, text from words "  # noqa: S608 - one of the texts above
                f"join conversation on conversation.id = words.conversation where {where} order by words.rowid desc limit ?",
                (text, limit),
            ).fetchall()
        return tuple(
            ConversationMatch(conversation=row[0], number=row[1], title=row[2], text=_around(row[3], text)) for row in rows
        )

    def summary(self, conversation: str) -> tuple[int, str]:
        with self._db.read() as db:
            row = db.execute("select summarized, summary from conversation where id = ?", (conversation,)).fetchone()
        return (int(row[0]), str(row[1])) if row else (0, "")

    def set_summary(self, conversation: str, last_turn: int, summary: str) -> None:
        with self._db.write(f"conversation {conversation}") as db:
            db.execute(
                "update conversation set summarized = ?, summary = ? where id = ?", (last_turn, summary, conversation)
            )  # fmt: skip

    def delete(self, conversation: str) -> bool:
        with self._db.write(f"conversation {conversation}") as db:
            db.execute("delete from words where conversation = ?", (conversation,))
            db.execute("delete from turn where conversation = ?", (conversation,))
            return db.execute("delete from conversation where id = ?", (conversation,)).rowcount > 0

    def close(self) -> None:
        self._db.close()

    def _summaries(self, where: str, value: object) -> Iterator[ConversationSummary]:
        with self._db.read() as db:
            rows = db.execute(
                f"select id, created, updated, agent, version, model, title from conversation {where}", (value,)  # noqa: S608
            ).fetchall()  # fmt: skip
            usages = {
                row[0]: db.execute("select usage from turn where conversation = ?", (row[0],)).fetchall() for row in rows
            }  # fmt: skip
        for row in rows:
            used = [_usage(each[0]) for each in usages[row[0]]]
            yield ConversationSummary(
                id=row[0], created=datetime.fromisoformat(row[1]), updated=datetime.fromisoformat(row[2]), agent=row[3],
                version=row[4], model=row[5], title=row[6], turns=len(used), usage=sum(used, ModelUsage()),
            )  # fmt: skip

    def _index(self, db: SqlConnection, conversation: str, number: int, text: str) -> None:
        if text:
            db.execute("insert into words (text, conversation, number) values (?, ?, ?)", (text, conversation, number))


def to_markdown(conversation: ConversationSummary, turns: tuple[Turn, ...]) -> str:
    when = f"{conversation.created:%Y-%m-%d %H:%M} UTC, {conversation.model or 'no model'}, `{conversation.id}`"
    lines = [f"# {conversation.title or conversation.id}", "", when]
    for turn in turns:
        lines += ["", "## You", "", turn.message, "", f"## {conversation.agent or 'metier'}", ""]
        if turn.active:
            lines += [f"*Skills: {', '.join(turn.active)}*", ""]
        lines.append(turn.answer or "*(no answer)*")
        if turn.reason:
            lines += ["", f"*{turn.reason}*"]
    return "\n".join(lines) + "\n"


def _turn(row: tuple[Any, ...]) -> Turn:  # Any: what the database holds
    number, started, message, answer, status, reason, messages, tokens, active, usage = row
    return Turn(
        number=number, started=datetime.fromisoformat(started), message=message, answer=answer,
        status=TurnStatus(status) if status else None, reason=reason,
        messages=bytes(messages, "utf-8") if isinstance(messages, str) else messages, tokens=tokens,
        active=tuple(json.loads(active)), usage=_usage(usage),
    )  # fmt: skip


def _storable(text: str) -> str:
    """Replaces what a database cannot hold and a model may write: half a surrogate pair and, in PostgreSQL, NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _usage(text: str) -> ModelUsage:
    row: Mapping[str, Any] = json.loads(text)
    return ModelUsage(**row)


def _around(text: str, word: str, width: int = 60) -> str:
    at = max(0, text.lower().find(word.lower()))
    start, end = max(0, at - width), at + len(word) + width
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
