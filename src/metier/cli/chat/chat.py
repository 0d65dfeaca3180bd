"""`metier chat`: a conversation, on a terminal or in a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from metier.agents import TurnStatus, read_slash_commands, to_markdown
from metier.app import App
from metier.cli.agent.fields import agent_names, parse_pairs
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, strip_control_chars
from metier.cli.run import failure
from metier.errors import UsageError

from .preview import preview_lines
from .record import TurnRecord
from .slash import COMMANDS, Conversation, export_json

__all__ = ["chat"]

_LARGEST = 1 << 22
_FOLDERS = (".claude/commands", ".agent/commands")


@command("", "chat")
@click.option("--agent", default="", shell_complete=agent_names, help="Use this agent.")
@click.option("--session", "session_id", metavar="ID", help="Continue this conversation.")
@click.option("--model", help="Use this model.")
@click.option(
    "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a variable in the agent's instructions."
)
@click.option("--list", "listed", is_flag=True, help="List stored conversations.")
@click.option("--search", metavar="WORDS", help="Search stored conversations.")
@click.option("--export", "export_id", metavar="ID", help="Print a conversation as Markdown, or in full with --json.")
@click.option("--delete", "delete_id", metavar="ID", help="Delete a conversation and its session.")
def chat(
    app: App, *, agent: str, session_id: str | None, model: str | None, variables: tuple[str, ...], **stored: Any
) -> Result:
    """Chat with an agent that uses your skills.

    Skills are selected for every message; /help lists the slash commands. In a pipe, lines with slash commands are run and
    the text between them is sent as messages: `echo question | metier chat --json`.
    """
    # Any: the options about stored conversations.
    if result := _stored(app, **stored):
        return result
    if session_id and not agent:
        known = [each for each in app.conversations.store.recent(1000) if each.id == session_id]
        agent = known[0].agent if known and known[0].agent in app.conversations.agents.names() else ""
    conversation = Conversation(
        app, agent=agent, model=model, session=session_id or None, variables=parse_pairs(variables), **_commands(app)
    )
    if agent:
        app.conversations.agents.get(agent)
    if sys.stdin.isatty() and sys.stdout.isatty() and not click.get_current_context().params["as_json"]:
        from .repl import run_repl

        asyncio.run(run_repl(conversation))
        end = f"Continue with `metier chat --session {conversation.session}`" if conversation.session else ""
        return Result(data={}, lines=lambda _: (), text="", info=end)
    return _piped(conversation)


def _stored(app: App, *, listed: bool, search: str | None, export_id: str | None, delete_id: str | None) -> Result | None:
    if listed:
        return _list(app)
    if search is not None:
        return _search(app, search)
    if export_id is not None:
        return _export(app, export_id)
    if delete_id is not None:
        app.conversations.store.get(delete_id)
        app.conversations.store.delete(delete_id)
        app.sessions.store.clear(delete_id)
        return Result(data={"deleted": delete_id}, lines=lambda _: (f"Deleted conversation {delete_id}",))
    return None


def _commands(app: App) -> dict[str, Any]:
    """Slash commands of the user, and of the project if it is trusted."""
    folders = [os.path.join(app.paths.user_home, each) for each in _FOLDERS]
    project = [os.path.join(app.folder, each) for each in _FOLDERS]
    if app.is_trusted:
        return {"commands": read_slash_commands([*folders, *project]), "warnings": ()}
    there = any(map(os.path.isdir, project)) and os.path.realpath(app.folder) != os.path.realpath(app.paths.user_home)
    warning = "slash commands of this project are ignored until you trust it with `metier trust`"
    return {"commands": read_slash_commands(folders), "warnings": (warning,) if there else ()}


def _piped(conversation: Conversation) -> Result:
    text = sys.stdin.read(_LARGEST)
    if not text.strip():
        raise UsageError("the message is empty", hint="pipe a message in, or run it in a terminal")
    known = {*COMMANDS, *conversation.commands, *(entry.name for entry in conversation.app.catalog)}
    entries = asyncio.run(_run_parts(conversation, list(_parts(text, known))))
    data = {"session": conversation.session, "agent": conversation.agent, "model": conversation.model_name, "entries": entries}
    turns = [entry for entry in entries if "status" in entry]
    if turns and turns[-1]["status"] == TurnStatus.FAILED:
        raise failure(turns[-1])
    notes = [*conversation.warnings, *(warning for turn in turns for warning in turn["warnings"])]
    notes += [turn["reason"] for turn in turns if turn["status"] in (TurnStatus.LIMITED, TurnStatus.STOPPED)]
    hints = [turn["hint"] for turn in turns if turn["status"] == TurnStatus.PREVIEW]
    stopped = turns and turns[-1]["status"] == TurnStatus.STOPPED
    return Result(
        data=data, lines=lambda terminal: _lines(entries, terminal), notes=tuple(notes), info=hints[-1] if hints else "",
        status=130 if stopped else 0,
    )  # fmt: skip


def _parts(text: str, known: set[str]) -> Iterator[str]:
    """Splits the input into slash commands, one on a line, and the messages between them."""
    message: list[str] = []
    for line in text.splitlines():
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        if word.startswith("/") and word[1:] in known:
            if "".join(message).strip():
                yield "\n".join(message).strip()
            message = []
            yield line.strip()
        else:
            message.append(line)
    if "".join(message).strip():
        yield "\n".join(message).strip()


async def _run_parts(conversation: Conversation, parts: list[str]) -> list[dict[str, Any]]:
    from .repl import interruptible

    entries: list[dict[str, Any]] = []
    try:
        for part in parts:
            result = await conversation.enter(part)
            if result.lines:
                entries.append({"command": part, "lines": list(result.lines)})
            if result.message:
                record = TurnRecord(result.message)
                async for event in interruptible(conversation.engine, result.message):
                    record(event)
                entries.append(record.row)
            if result.quit or (entries and entries[-1].get("status") == TurnStatus.STOPPED):
                break
    finally:
        await conversation.close()
    return entries


def _lines(entries: list[dict[str, Any]], terminal: Terminal) -> Iterator[str]:
    for number, entry in enumerate(entries):
        if number:
            yield ""
        if "lines" in entry:
            yield from entry["lines"]
        elif entry["status"] == TurnStatus.PREVIEW:
            yield from preview_lines(entry, terminal)
        else:
            # The answer may contain control sequences.
            yield from (strip_control_chars(entry["answer"]) if terminal.is_tty else entry["answer"]).splitlines()


def _list(app: App) -> Result:
    chats = app.conversations.store.recent()
    rows = [
        {"id": each.id, "title": each.title, "agent": each.agent, "model": each.model, "turns": each.turns,
         "created": each.created.isoformat(), "updated": each.updated.isoformat(), "tokens": each.usage.tokens}
        for each in chats
    ]  # fmt: skip

    def lines(terminal: Terminal) -> Iterator[str]:
        if not chats:
            yield "No conversations"
        for each in chats:
            when = f"{each.updated.astimezone():%Y-%m-%d %H:%M}"
            turns = f"{each.turns:>3} turn{'s' if each.turns != 1 else ' '}"
            yield f"{terminal.paint(pad(each.id, 12), 'bold')}  {when}  {turns}  {one_line(each.title)}"

    return Result(data={"chats": rows}, lines=lines, pages=True)


def _search(app: App, words: str) -> Result:
    if not words.strip():
        raise UsageError("the search is empty", hint="metier chat --search WORDS")
    found = app.conversations.store.search(words)
    rows = [{"id": each.conversation, "turn": each.number, "title": each.title, "text": each.text} for each in found]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not found:
            yield "No matches"
        for each in found:
            yield f"{terminal.paint(pad(each.conversation, 12), 'bold')}  {one_line(each.text)}"

    return Result(data={"found": rows}, lines=lines, pages=True)


def _export(app: App, chat_id: str) -> Result:
    import json

    found, turns = app.conversations.store.get(chat_id), app.conversations.store.turns(chat_id)
    return Result(data=json.loads(export_json(app, chat_id)), lines=lambda _: (), text=to_markdown(found, turns))
