"""Slash commands about stored conversations: `/save`, `/resume` and `/search`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

from metier.agents import to_markdown
from metier.app import App
from metier.cli.core.terminal import one_line, plural, truncate
from metier.errors import ConflictError, UsageError
from metier.sources import replace_text

from .conversation import Conversation, SlashResult
from .table import table

__all__ = ["end_of_conversation", "export_json", "resume", "save", "search"]


def save(conversation: Conversation, rest: str) -> SlashResult:
    engine = conversation.engine
    chat, turns = conversation.app.conversations.store.get(engine.id), conversation.app.conversations.store.turns(engine.id)
    name = rest or f"chat-{engine.id}.md"
    file = os.path.join(conversation.app.folder, os.path.expanduser(name))
    if os.path.lexists(file):
        raise ConflictError(f"{name!r} exists already", hint="choose another name: /save FILE")
    text = export_json(conversation.app, engine.id) if name.endswith(".json") else to_markdown(chat, turns)
    replace_text(file, text, inside=conversation.app.paths.inside(file))
    return SlashResult(lines=(one_line(f"Saved {plural(len(turns), 'turn')} to {name}"),))


def export_json(app: App, chat: str) -> str:
    """The whole conversation as JSON."""
    turns = [
        {"number": turn.number, "started": turn.started.isoformat(), "message": turn.message, "answer": turn.answer,
         "status": turn.status, "reason": turn.reason, "active": list(turn.active), "usage": asdict(turn.usage),
         "messages": json.loads(turn.messages)}
        for turn in app.conversations.store.turns(chat)
    ]  # fmt: skip
    found = app.conversations.store.get(chat)
    head = {"id": found.id, "title": found.title, "created": found.created.isoformat(), "agent": found.agent,
            "version": found.version, "model": found.model}  # fmt: skip
    return json.dumps({**head, "turns": turns}, ensure_ascii=False, indent=2) + "\n"


async def resume(conversation: Conversation, rest: str) -> SlashResult:
    store = conversation.app.conversations.store
    if not rest:
        chats = store.recent(10)
        rows = [(chat.id, f"{chat.updated.astimezone():%Y-%m-%d %H:%M}  {chat.title}") for chat in chats]
        hint = "Continue one with /resume ID; the first 4 letters of the ID are enough"
        return SlashResult(lines=(*table(conversation.terminal, rows), hint) if rows else ("No conversations",))
    chat = store.get(rest)
    known = chat.agent in conversation.app.conversations.agents.names()
    await conversation.switch(chat.id, agent=chat.agent if known else "")
    return end_of_conversation(conversation)


def end_of_conversation(conversation: Conversation) -> SlashResult:
    """The last turn of a conversation that is continued."""
    turns = conversation.app.conversations.store.turns(conversation.engine.id)
    if not turns:
        return SlashResult()
    last, terminal = turns[-1], conversation.terminal
    active = ", ".join(conversation.engine.session.active_names) or "none"
    head = terminal.paint(one_line(f"{plural(len(turns), 'turn')} so far; active skills: {active}"), "dim")
    lines = [head, f"> {truncate(one_line(last.message), terminal.width)}"]
    if last.status is None:
        lines.append(terminal.paint("This turn was not finished; send the message again if you still need it", "yellow"))
    elif last.reason:
        lines.append(terminal.paint(one_line(last.reason), "yellow"))
    return SlashResult(lines=tuple(lines), markdown=last.answer)


def search(conversation: Conversation, rest: str) -> SlashResult:
    if not rest:
        raise UsageError("the search is empty", hint="/search WORDS")
    found = conversation.app.conversations.store.search(rest)
    rows = [(each.conversation, each.text) for each in found]
    return SlashResult(lines=tuple(table(conversation.terminal, rows)) or ("No matches",))
