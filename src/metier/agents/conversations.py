"""Conversations in one SQLite file: who said what, which skills were active, what it cost.

A turn is written twice: when it begins, with what the user said, and when it ends, whole, in one transaction. A process
that is killed in between loses that turn's answer and nothing else. The skills that are active *now* are the
session's own (see `metier.runtime`), under the same id.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from metier.errors import NotFoundError
from metier.runtime import Database

from .events import ModelUsage, TurnStatus

__all__ = ["ConversationMatch", "ConversationStore", "ConversationSummary", "Turn", "to_markdown"]

_SCHEMA = """
create table chat (id text primary key, created text, updated text, agent text, version integer, model text, title text,
                   summary text default '', summarised integer default 0);
create table turn (chat text, number integer, started text, ended text, message text, answer text default '',
                   ending text default '', reason text default '', messages blob default '[]', tokens integer default 0,
                   active text default '[]', spent text default '{}', primary key (chat, number)) without rowid;
create virtual table words using fts5(text, chat unindexed, number unindexed, tokenize = 'trigram')
"""
_TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSummary:
    """One conversation as a list shows it."""

    id: str
    created: datetime
    updated: datetime
    title: str
    """What was said first."""
    turns: int = 0
    agent: str = ""
    version: int = 0
    model: str = ""
    spent: ModelUsage = field(default_factory=ModelUsage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    number: int
    started: datetime
    message: str
    answer: str = ""
    ending: TurnStatus | None = None
    """None: it never ended, because its process did."""
    reason: str = ""
    messages: bytes = b"[]"
    """As the model was sent them and answered, in pydantic-ai's JSON."""
    tokens: int = 0
    """Of those messages."""
    active: tuple[str, ...] = ()
    spent: ModelUsage = field(default_factory=ModelUsage)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationMatch:
    chat: str
    number: int
    title: str
    text: str
    """Around what was looked for."""


class ConversationStore:
    def __init__(self, file: str | os.PathLike[str], *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._db = Database(file, schema=_SCHEMA)
        self._clock = clock

    @property
    def damaged_copy(self) -> str | None:
        """Where a damaged file was moved, if that happened."""
        return self._db.damaged_copy

    def begin(self, chat: str, message: str, *, agent: str = "", version: int = 0, model: str = "") -> int:
        """A turn has begun; its number."""
        now = self._clock().isoformat()
        title = " ".join(message.split())[:_TITLE]
        with self._db.writing() as db:
            db.execute(
                "insert into chat (id, created, updated, agent, version, model, title) values (?, ?, ?, ?, ?, ?, ?) "
                "on conflict do update set updated = excluded.updated, agent = excluded.agent, version = excluded.version, "
                "model = excluded.model",
                (chat, now, now, agent, version, model, title),
            )
            number = db.execute("select coalesce(max(number), 0) + 1 from turn where chat = ?", (chat,)).fetchone()[0]
            db.execute("insert into turn (chat, number, started, message) values (?, ?, ?, ?)", (chat, number, now, message))
            self._index(db, chat, number, message)
        return int(number)

    def finish(self, chat: str, turn: Turn) -> None:
        """All of a turn that has ended, in one piece."""
        now = self._clock().isoformat()
        with self._db.writing() as db:
            db.execute(
                "update turn set ended = ?, answer = ?, ending = ?, reason = ?, messages = ?, tokens = ?, active = ?, "
                "spent = ? where chat = ? and number = ?",
                (now, turn.answer, turn.ending or "", turn.reason, turn.messages, turn.tokens, json.dumps(turn.active),
                 json.dumps(asdict(turn.spent)), chat, turn.number),
            )  # fmt: skip
            db.execute("update chat set updated = ? where id = ?", (now, chat))
            self._index(db, chat, turn.number, turn.answer)

    def turns(self, chat: str) -> tuple[Turn, ...]:
        """All of them, oldest first; also those that never ended."""
        with self._db.reading() as db:
            rows = db.execute(
                "select number, started, message, answer, ending, reason, messages, tokens, active, spent from turn "
                "where chat = ? order by number", (chat,)
            ).fetchall()  # fmt: skip
        return tuple(_turn(row) for row in rows)

    def get(self, chat: str) -> ConversationSummary:
        for found in self._chats("where chat.id = ?", chat):
            return found
        raise NotFoundError(f"no conversation is named {chat!r}", hint="see `metier chat --list`")

    def chats(self, limit: int = 50) -> tuple[ConversationSummary, ...]:
        """The most recent first."""
        return tuple(self._chats("order by updated desc limit ?", limit))

    def search(self, text: str, limit: int = 20) -> tuple[ConversationMatch, ...]:
        """Where this was said, by either side, the latest first; capitals do not matter."""
        # The index knows runs of three characters, and takes % and _ for wildcards; for the rest the rows are read.
        indexed = len(text) >= 3 and not {"%", "_"} & set(text)
        where = "words.text like '%' || ? || '%'" if indexed else "instr(lower(words.text), lower(?))"
        with self._db.reading() as db:
            rows = db.execute(
                f"select words.chat, number, title, text from words join chat on chat.id = words.chat where {where} "  # noqa: S608
                "order by words.rowid desc limit ?",
                (text, limit),
            ).fetchall()
        return tuple(ConversationMatch(chat=row[0], number=row[1], title=row[2], text=_around(row[3], text)) for row in rows)

    def summary(self, chat: str) -> tuple[int, str]:
        """Up to which turn the history was compacted, and what stands for it."""
        with self._db.reading() as db:
            row = db.execute("select summarised, summary from chat where id = ?", (chat,)).fetchone()
        return (int(row[0]), str(row[1])) if row else (0, "")

    def summarise(self, chat: str, upto: int, summary: str) -> None:
        with self._db.writing() as db:
            db.execute("update chat set summarised = ?, summary = ? where id = ?", (upto, summary, chat))

    def delete(self, chat: str) -> bool:
        with self._db.writing() as db:
            db.execute("delete from words where chat = ?", (chat,))
            db.execute("delete from turn where chat = ?", (chat,))
            return db.execute("delete from chat where id = ?", (chat,)).rowcount > 0

    def close(self) -> None:
        self._db.close()

    def _chats(self, where: str, value: object) -> Iterator[ConversationSummary]:
        with self._db.reading() as db:
            rows = db.execute(
                f"select id, created, updated, agent, version, model, title from chat {where}", (value,)  # noqa: S608
            ).fetchall()  # fmt: skip
            spent = {
                row[0]: db.execute("select spent from turn where chat = ?", (row[0],)).fetchall() for row in rows
            }  # fmt: skip
        for row in rows:
            used = [_spent(each[0]) for each in spent[row[0]]]
            yield ConversationSummary(
                id=row[0], created=datetime.fromisoformat(row[1]), updated=datetime.fromisoformat(row[2]), agent=row[3],
                version=row[4], model=row[5], title=row[6], turns=len(used), spent=sum(used, ModelUsage()),
            )  # fmt: skip

    def _index(self, db: Any, chat: str, number: int, text: str) -> None:  # Any: a connection
        if text:
            db.execute("insert into words (text, chat, number) values (?, ?, ?)", (text, chat, number))


def to_markdown(chat: ConversationSummary, turns: tuple[Turn, ...]) -> str:
    """A conversation to read, keep or send."""
    lines = [f"# {chat.title or chat.id}", "", f"{chat.created:%Y-%m-%d %H:%M} UTC, {chat.model or 'no model'}, `{chat.id}`"]
    for turn in turns:
        lines += ["", "## You", "", turn.message, "", f"## {chat.agent or 'metier'}", ""]
        if turn.active:
            lines += [f"*Skills: {', '.join(turn.active)}*", ""]
        lines.append(turn.answer or "*(no answer)*")
        if turn.reason:
            lines += ["", f"*{turn.reason}*"]
    return "\n".join(lines) + "\n"


def _turn(row: tuple[Any, ...]) -> Turn:  # Any: what SQLite holds
    number, started, message, answer, ending, reason, messages, tokens, active, spent = row
    return Turn(
        number=number, started=datetime.fromisoformat(started), message=message, answer=answer,
        ending=TurnStatus(ending) if ending else None, reason=reason,
        messages=bytes(messages, "utf-8") if isinstance(messages, str) else messages, tokens=tokens,
        active=tuple(json.loads(active)), spent=_spent(spent),
    )  # fmt: skip


def _spent(text: str) -> ModelUsage:
    row: Mapping[str, Any] = json.loads(text)
    return ModelUsage(**row)


def _around(text: str, word: str, width: int = 60) -> str:
    at = max(0, text.lower().find(word.lower()))
    start, end = max(0, at - width), at + len(word) + width
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
