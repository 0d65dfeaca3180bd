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
from metier.cli.completion import conversation_ids
from metier.cli.core.dispatch import command
from metier.cli.core.questions import Choice, ask_one, can_ask
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, pad, plural, strip_control_chars
from metier.cli.core.workspace import WorkspaceOptions, finish_workspace, open_workspace, workspace_options
from metier.cli.run import failure
from metier.errors import NotFoundError, UsageError
from metier.values import replace

from .conversation import Conversation, agent_of, conversation_id
from .parameters import parameter_option, parse_parameters
from .preview import preview_lines
from .record import TurnRecord
from .slash import COMMANDS, enter
from .stored_commands import export_json

__all__ = ["chat"]

_LARGEST = 1 << 22
_PICK = "?"
_FOLDERS = (".claude/commands", ".agent/commands")


@command("", "chat")
@click.option("--agent", default="", shell_complete=agent_names, help="Use this agent.")
@click.option("-c", "--continue", "latest", is_flag=True, help="Continue the latest conversation.")
@click.option(
    "--resume",
    "--session",
    "session_id",
    is_flag=False,
    flag_value=_PICK,
    metavar="[ID]",
    shell_complete=conversation_ids,
    help="Continue this conversation, or one that you pick.",
)
@click.option("--model", help="Use this model.")
@parameter_option
@click.option(
    "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a variable in the agent's instructions."
)
@click.option("--list", "listed", is_flag=True, help="List stored conversations.")
@click.option("--search", metavar="WORDS", help="Search stored conversations.")
@click.option(
    "--export",
    "export_id",
    metavar="ID",
    shell_complete=conversation_ids,
    help="Print a conversation as Markdown, or in full with --json.",
)
@click.option(
    "--delete", "delete_id", metavar="ID", shell_complete=conversation_ids, help="Delete a conversation and its session."
)
@workspace_options
def chat(
    app: App, *, agent: str, latest: bool, session_id: str | None, model: str | None, parameters: tuple[str, ...],
    variables: tuple[str, ...], workspace: str | None, no_workspace: bool, no_write: bool, yes: bool, **stored: Any,
) -> Result:  # fmt: skip
    """Chat with an agent that uses your skills.

    Skills are selected for every message; /help lists the slash commands. In a pipe, lines with slash commands are run and
    the text between them is sent as messages: `echo question | metier chat --json`. Scripts work in the workspace, by
    default the current folder, and their changes are shown after each turn.
    """
    # Any: the options about stored conversations.
    if result := _stored(app, **stored):
        return result
    if agent:
        app.conversations.agents.get(agent)
    session = _pick(app) if session_id == _PICK and not latest else conversation_id(app, session_id, latest=latest)
    options = WorkspaceOptions(workspace=workspace, no_workspace=no_workspace, no_write=no_write, yes=yes)
    opened, _ = open_workspace(app, options, ask=not click.get_current_context().params["as_json"])
    conversation = Conversation(
        app, agent=agent or agent_of(app, session), model=model, session=session, variables=parse_pairs(variables),
        parameters=parse_parameters(app, parameters), workspace=opened, **_commands(app),
    )  # fmt: skip
    try:
        return _converse(conversation, yes=yes)
    finally:
        if opened is not None:
            opened.close()


def _converse(conversation: Conversation, *, yes: bool) -> Result:
    app = conversation.app
    if sys.stdin.isatty() and sys.stdout.isatty() and not click.get_current_context().params["as_json"]:
        from .repl import run_repl

        asyncio.run(run_repl(conversation, yes=yes))
        kept = conversation.session and app.conversations.store.complete_id(conversation.session)
        end = f"Continue with `metier chat --continue`, or later with `metier chat --resume {kept[:8]}`" if kept else ""
        return Result(data={}, lines=lambda _: (), text="", info=end)
    result = _piped(conversation)
    if conversation.workspace is None:
        return replace(result, data={**result.data, "workspace": None})
    report = finish_workspace(
        app, conversation.workspace, conversation.last_session, conversation.last_skills, yes=yes, ask=False
    )
    notes = (*result.notes, *report.notes)
    return replace(result, data={**result.data, "workspace": report.data}, notes=notes, info=result.info or report.info)


def _pick(app: App) -> str:
    """Asks which conversation to continue."""
    chats = app.conversations.store.recent()
    if not chats:
        raise NotFoundError("no conversation to continue", hint="start one with `metier chat`")
    if not can_ask():
        raise UsageError("name the conversation", hint="`metier chat --list` lists them; --continue takes the latest")
    when = {each.id: f"{each.updated.astimezone():%Y-%m-%d %H:%M}" for each in chats}
    titles = {each.id: one_line(f"{when[each.id]}  {each.title}  ({plural(each.turns, 'turn')})") for each in chats}
    return ask_one("Which conversation?", [Choice(value=each, title=title) for each, title in titles.items()])


def _stored(app: App, *, listed: bool, search: str | None, export_id: str | None, delete_id: str | None) -> Result | None:
    if listed:
        return _list(app)
    if search is not None:
        return _search(app, search)
    if export_id is not None:
        return _export(app, export_id)
    if delete_id is not None:
        delete_id = app.conversations.store.get(delete_id).id
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
    notes = [*conversation.warnings, *(note for turn in turns for note in turn.pop("notes"))]
    notes += [
        f"{turn['reason']}; {turn['hint']}" if turn["hint"] else turn["reason"]
        for turn in turns if turn["status"] in (TurnStatus.LIMITED, TurnStatus.STOPPED)
    ]  # fmt: skip
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
            result = await enter(conversation, part)
            if result.lines:
                entries.append({"command": part, "lines": [*result.lines, *result.markdown.splitlines()]})
            if result.message:
                record = TurnRecord(result.message)
                async for event in interruptible(conversation.engine, result.message):
                    record(event)
                entries.append(record.row | {"notes": record.notes})
            if result.quit or (entries and entries[-1].get("status") == TurnStatus.STOPPED):
                break
    finally:
        await conversation.close()
    return entries


def _lines(entries: list[dict[str, Any]], terminal: Terminal) -> Iterator[str]:
    previews = 0
    for number, entry in enumerate(entries):
        if number:
            yield ""
        if "lines" in entry:
            yield from entry["lines"]
        elif entry["status"] == TurnStatus.PREVIEW:
            previews += 1
            yield from preview_lines(entry, terminal, brief=previews > 1)
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

    found = app.conversations.store.get(chat_id)
    turns = app.conversations.store.turns(found.id)
    return Result(data=json.loads(export_json(app, found.id)), lines=lambda _: (), text=to_markdown(found, turns))
