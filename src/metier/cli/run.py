"""`metier run`: one request, done with skills, and its answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from metier.agents import TurnStatus
from metier.app import App
from metier.errors import UnavailableError

from .agent.create import agent_names, pairs
from .chat.preview import preview_lines
from .chat.record import Listener, TurnRecord
from .chat.slash import Conversation
from .core.dispatch import command
from .core.result import Result
from .core.terminal import one_line
from .skill.select import request_text

__all__ = ["ask", "failure"]

_STATUS = {TurnStatus.DONE: 0, TurnStatus.PREVIEW: 0, TurnStatus.LIMITED: 1, TurnStatus.STOPPED: 130}


@command("", "run")
@click.argument("query", nargs=-1, required=True, metavar="REQUEST")
@click.option("--agent", default="", shell_complete=agent_names, help="The agent that does it.")
@click.option("--model", help="Ask this model instead.")
@click.option("--session", "session_id", metavar="ID", help="Go on with this conversation.")
@click.option("--skill", "skills", multiple=True, help="Activate this skill first; repeatable.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the agent's instructions.")
def ask(
    app: App,
    *,
    query: tuple[str, ...],
    agent: str,
    model: str | None,
    session_id: str | None,
    skills: tuple[str, ...],
    variables: tuple[str, ...],
) -> Result:
    """Have one request done: pick skills, activate them, ask the model, run what it calls for, print the answer.

    `-` reads the request from standard input. Without a model it shows what one would receive. The conversation is kept;
    `metier chat --session ID` goes on with it.
    """
    text = request_text(query)
    talk = Conversation(app, agent=agent, model=model, session=session_id or None, variables=pairs(variables))
    record = TurnRecord(text)
    live = sys.stdout.isatty() and not click.get_current_context().params["as_json"]
    listeners: list[Listener] = [record]
    if live:
        listeners.append(_shown_on(talk))
    asyncio.run(_said(talk, text, skills, listeners))
    return _result(talk, record, live=live)


async def _said(talk: Conversation, text: str, skills: Sequence[str], listeners: Iterable[Listener]) -> None:
    from .chat.repl import stoppable

    try:
        for name in skills:
            talk.engine.session.activate(name)
        async for event in stoppable(talk.engine, text):
            for listener in listeners:
                listener(event)
    finally:
        await talk.close()


def _shown_on(talk: Conversation) -> Listener:
    from .chat.repl import asking
    from .chat.view import View

    view = View(sandbox=lambda: _level(talk.app))
    talk.approve = asking(lambda: view)
    return view


def _level(app: App) -> str:
    best = app.sessions.runner.best()
    return best.level if best else ""


def _result(talk: Conversation, record: TurnRecord, *, live: bool) -> Result:
    row = record.row
    ending = TurnStatus(row["status"])
    if ending is TurnStatus.FAILED:
        raise failure(row)
    data: dict[str, Any] = {"session": talk.session, "agent": talk.agent, "model": talk.model_name, **row}
    notes = [*row["warnings"]]
    if ending in (TurnStatus.LIMITED, TurnStatus.STOPPED):
        notes.append(f"{row['reason']}; {row['hint']}" if row["hint"] else row["reason"])
    if ending is TurnStatus.PREVIEW:
        return Result(
            data=data, lines=lambda terminal: preview_lines(row, terminal), notes=tuple(notes), info=one_line(row["hint"])
        )
    answer = "" if live else f"{row['answer']}\n"
    return Result(data=data, lines=lambda _: (), text=answer, notes=tuple(notes) if not live else (), status=_STATUS[ending])


def failure(row: dict[str, Any]) -> UnavailableError:
    """The error that ends the command; what was warned of before is told with it."""
    error = UnavailableError(row["reason"], hint=row["hint"])
    for warning in row["warnings"]:
        error.add_note(warning)
    return error
