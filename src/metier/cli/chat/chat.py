"""`metier chat`: a conversation, on a terminal or in a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from metier.agents import TurnStatus, read_slash_commands
from metier.agents.conversations import to_markdown
from metier.app import App
from metier.cli.agent.create import agent_names, pairs
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, strip_control_chars
from metier.cli.run import failure
from metier.errors import UsageError

from .preview import preview_lines
from .record import TurnRecord
from .slash import COMMANDS, Conversation, exported

__all__ = ["chat"]

_LARGEST = 1 << 22
_FOLDERS = (".claude/commands", ".agent/commands")


@command("", "chat")
@click.option("--agent", default="", shell_complete=agent_names, help="The agent to talk with.")
@click.option("--session", "session_id", metavar="ID", help="Go on with this conversation.")
@click.option("--model", help="Ask this model instead.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the agent's instructions.")
@click.option("--list", "listed", is_flag=True, help="List the conversations that are kept.")
@click.option("--search", metavar="WORDS", help="Find what was said in any of them.")
@click.option("--export", "export_id", metavar="ID", help="Print a conversation as Markdown, or whole with --json.")
@click.option("--delete", "delete_id", metavar="ID", help="Forget a conversation and its session.")
def chat(app: App, *, agent: str, session_id: str | None, model: str | None, variables: tuple[str, ...], **kept: Any) -> Result:
    """Talk with an agent that uses your skills.

    Skills are picked for every message; /help lists what else can be typed. In a pipe each line that is a command is done,
    and what stands between is a message: `echo question | metier chat --json`.
    """
    # Any: what is asked about conversations that are kept.
    if answer := _kept(app, **kept):
        return answer
    if session_id and not agent:
        known = [each for each in app.conversations.store.recent(1000) if each.id == session_id]
        agent = known[0].agent if known and known[0].agent in app.conversations.agents.names() else ""
    talk = Conversation(app, agent=agent, model=model, session=session_id or None, variables=pairs(variables), **_commands(app))
    if agent:
        app.conversations.agents.get(agent)
    if sys.stdin.isatty() and sys.stdout.isatty() and not click.get_current_context().params["as_json"]:
        from .repl import converse

        asyncio.run(converse(talk))
        end = f"metier chat --session {talk.session} goes on with this conversation" if talk.session else ""
        return Result(data={}, lines=lambda _: (), text="", info=end)
    return _piped(talk)


def _kept(app: App, *, listed: bool, search: str | None, export_id: str | None, delete_id: str | None) -> Result | None:
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
        return Result(data={"deleted": delete_id}, lines=lambda _: (f"forgot {delete_id}",))
    return None


def _commands(app: App) -> dict[str, Any]:
    """The user's own Markdown commands, and the project's if it is trusted."""
    folders = [os.path.join(app.paths.user_home, each) for each in _FOLDERS]
    project = [os.path.join(app.folder, each) for each in _FOLDERS]
    if app.is_trusted:
        return {"commands": read_slash_commands([*folders, *project]), "warnings": ()}
    there = any(map(os.path.isdir, project)) and os.path.realpath(app.folder) != os.path.realpath(app.paths.user_home)
    warning = "the commands of this project are not used until you trust it: `metier trust`"
    return {"commands": read_slash_commands(folders), "warnings": (warning,) if there else ()}


def _piped(talk: Conversation) -> Result:
    text = sys.stdin.read(_LARGEST)
    if not text.strip():
        raise UsageError("there is nothing to say", hint="pipe a message in, or start it on a terminal")
    known = {*COMMANDS, *talk.commands, *(entry.name for entry in talk.app.catalog)}
    entries = asyncio.run(_all_of(talk, list(_parts(text, known))))
    data = {"session": talk.session, "agent": talk.agent, "model": talk.model_name, "entries": entries}
    turns = [entry for entry in entries if "status" in entry]
    if turns and turns[-1]["status"] == TurnStatus.FAILED:
        raise failure(turns[-1])
    notes = [*talk.warnings, *(warning for turn in turns for warning in turn["warnings"])]
    notes += [turn["reason"] for turn in turns if turn["status"] in (TurnStatus.LIMITED, TurnStatus.STOPPED)]
    hints = [turn["hint"] for turn in turns if turn["status"] == TurnStatus.PREVIEW]
    stopped = turns and turns[-1]["status"] == TurnStatus.STOPPED
    return Result(
        data=data, lines=lambda terminal: _lines(entries, terminal), notes=tuple(notes), info=hints[-1] if hints else "",
        status=130 if stopped else 0,
    )  # fmt: skip


def _parts(text: str, known: set[str]) -> Iterator[str]:
    """Commands, each on its line, and the messages between them."""
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


async def _all_of(talk: Conversation, parts: list[str]) -> list[dict[str, Any]]:
    from .repl import stoppable

    entries: list[dict[str, Any]] = []
    try:
        for part in parts:
            entered = await talk.entered(part)
            if entered.lines:
                entries.append({"command": part, "lines": list(entered.lines)})
            if entered.message:
                record = TurnRecord(entered.message)
                async for event in stoppable(talk.engine, entered.message):
                    record(event)
                entries.append(record.row)
            if entered.leave or (entries and entries[-1].get("status") == TurnStatus.STOPPED):
                break
    finally:
        await talk.close()
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
            # A model may have been talked into anything, also into moving the cursor.
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
            yield "nothing was said yet"
        for each in chats:
            when = f"{each.updated.astimezone():%Y-%m-%d %H:%M}"
            yield f"{terminal.paint(pad(each.id, 12), 'bold')}  {when}  {each.turns:>3} turns  {one_line(each.title)}"

    return Result(data={"chats": rows}, lines=lines, pages=True)


def _search(app: App, words: str) -> Result:
    if not words.strip():
        raise UsageError("there is nothing to look for", hint="metier chat --search WORDS")
    found = app.conversations.store.search(words)
    rows = [{"id": each.conversation, "turn": each.number, "title": each.title, "text": each.text} for each in found]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not found:
            yield "nobody has said that"
        for each in found:
            yield f"{terminal.paint(pad(each.conversation, 12), 'bold')}  {one_line(each.text)}"

    return Result(data={"found": rows}, lines=lines, pages=True)


def _export(app: App, chat_id: str) -> Result:
    import json

    found, turns = app.conversations.store.get(chat_id), app.conversations.store.turns(chat_id)
    return Result(data=json.loads(exported(app, chat_id)), lines=lambda _: (), text=to_markdown(found, turns))
