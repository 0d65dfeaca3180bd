"""`metier run`: one request, answered with skills."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from metier.agents import TurnStatus
from metier.app import App
from metier.errors import UnavailableError
from metier.values import replace

from .agent.fields import agent_names, parse_pairs
from .chat.conversation import Conversation, agent_of, conversation_id
from .chat.parameters import parameter_option, parse_parameters
from .chat.preview import preview_lines
from .chat.record import Listener, TurnRecord
from .completion import conversation_ids, skill_names
from .core.dispatch import command
from .core.questions import can_ask
from .core.result import Result
from .core.terminal import one_line, strip_control_chars
from .core.workspace import WorkspaceOptions, finish_workspace, open_workspace, workspace_options
from .skill.select import request_text

if TYPE_CHECKING:
    from .chat.view import View

__all__ = ["failure", "run"]

_EXIT_STATUS = {TurnStatus.DONE: 0, TurnStatus.PREVIEW: 0, TurnStatus.LIMITED: 1, TurnStatus.STOPPED: 130}


@command("", "run")
@click.argument("query", nargs=-1, required=True, metavar="REQUEST")
@click.option("--agent", default="", shell_complete=agent_names, help="Use this agent.")
@click.option("--model", help="Use this model.")
@click.option("-c", "--continue", "latest", is_flag=True, help="Continue the latest conversation.")
@click.option("--session", "session_id", metavar="ID", shell_complete=conversation_ids, help="Continue this conversation.")
@click.option("--skill", "skills", multiple=True, shell_complete=skill_names, help="Activate this skill first; repeatable.")
@parameter_option
@click.option(
    "--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a variable in the agent's instructions."
)
@workspace_options
def run(
    app: App,
    *,
    query: tuple[str, ...],
    agent: str,
    model: str | None,
    latest: bool,
    session_id: str | None,
    skills: tuple[str, ...],
    parameters: tuple[str, ...],
    variables: tuple[str, ...],
    **folder: Any,
) -> Result:
    """Run a single request with your skills.

    Selects and activates skills, asks the model, runs the tools it calls and prints the answer. `-` reads the request from
    standard input. Without a model the prompt is shown instead. `metier chat --continue` continues the conversation.
    Scripts work in the workspace, by default the current folder, and their changes are shown before they are applied.
    """
    # Any: the options of the workspace.
    text = request_text(query)
    options = WorkspaceOptions(**folder)
    session = conversation_id(app, session_id, latest=latest)
    workspace, _ = open_workspace(app, options, ask=not click.get_current_context().params["as_json"])
    conversation = Conversation(
        app, agent=agent or agent_of(app, session), model=model, session=session, variables=parse_pairs(variables),
        parameters=parse_parameters(app, parameters), workspace=workspace,
    )  # fmt: skip
    try:
        result = _answer(conversation, text, skills)
        return _with_changes(conversation, result, yes=options.yes)
    finally:
        if workspace is not None:
            workspace.close()


def _answer(conversation: Conversation, text: str, skills: Sequence[str]) -> Result:
    record = TurnRecord(text)
    live = sys.stdout.isatty() and not click.get_current_context().params["as_json"]
    view = _live_view(conversation) if live else None
    try:
        asyncio.run(_run_turn(conversation, text, skills, [record, view] if view else [record]))
    finally:
        if view:
            # An error in the turn leaves its spinner.
            view.pause()
    return _result(conversation, record, live=live)


def _with_changes(conversation: Conversation, result: Result, *, yes: bool) -> Result:
    if conversation.workspace is None:
        return replace(result, data={**result.data, "workspace": None})
    ask = not click.get_current_context().params["as_json"]
    if result.status == _EXIT_STATUS[TurnStatus.STOPPED]:
        conversation.workspace.discard()
    if ask and can_ask() and result.text:
        # Before the question about what it changed.
        sys.stdout.write(strip_control_chars(result.text))
        sys.stdout.flush()
        result = replace(result, text="")
    report = finish_workspace(
        conversation.app, conversation.workspace, conversation.last_session, conversation.last_skills, yes=yes, ask=ask
    )
    info = "; ".join(filter(None, (result.info, report.info)))
    return replace(result, data={**result.data, "workspace": report.data}, notes=(*result.notes, *report.notes), info=info)


async def _run_turn(conversation: Conversation, text: str, skills: Sequence[str], listeners: Iterable[Listener]) -> None:
    from .chat.repl import interruptible

    try:
        for name in skills:
            conversation.engine.session.activate(name)
        async for event in interruptible(conversation.engine, text):
            for listener in listeners:
                listener(event)
    finally:
        await conversation.close()


def _live_view(conversation: Conversation) -> View:
    from .chat.repl import approval_prompt
    from .chat.view import View

    view = View(sandbox=lambda: _level(conversation.app))
    conversation.approve = approval_prompt(lambda: view)
    return view


def _level(app: App) -> str:
    best = app.sessions.runner.best()
    return best.level if best else ""


def _result(conversation: Conversation, record: TurnRecord, *, live: bool) -> Result:
    row = record.row
    status = TurnStatus(row["status"])
    if status is TurnStatus.FAILED:
        raise failure(row)
    data: dict[str, Any] = {
        "session": conversation.session,
        "agent": conversation.agent,
        "model": conversation.model_name,
        **row,
    }
    notes = record.notes
    if status in (TurnStatus.LIMITED, TurnStatus.STOPPED):
        notes.append(f"{row['reason']}; {row['hint']}" if row["hint"] else row["reason"])
    if status is TurnStatus.PREVIEW:
        return Result(
            data=data, lines=lambda terminal: preview_lines(row, terminal), notes=tuple(notes), info=one_line(row["hint"])
        )
    answer = "" if live else f"{row['answer']}\n"
    return Result(
        data=data, lines=lambda _: (), text=answer, notes=tuple(notes) if not live else (), status=_EXIT_STATUS[status]
    )


def failure(row: dict[str, Any]) -> UnavailableError:
    """The error that ends the command, with the warnings of the turn."""
    error = UnavailableError(row["reason"], hint=row["hint"])
    for warning in row["warnings"]:
        error.add_note(warning)
    return error
