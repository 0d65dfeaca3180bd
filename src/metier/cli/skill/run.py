"""`metier skill run`: run a script of a skill in the sandbox."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Awaitable, Sequence
from typing import Any

import click

from metier.app import App
from metier.cli.completion import script_names, secret_names, skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.questions import can_ask
from metier.cli.core.result import Result
from metier.cli.core.workspace import WorkspaceOptions, finish_workspace, open_workspace, workspace_options
from metier.cli.policy import ask_on_terminal
from metier.errors import UsageError
from metier.runtime import (
    ApprovalAnswer,
    ApprovalHook,
    Outcome,
    Question,
    Session,
    check_output_paths,
    connection_notes,
    printable,
    write_outputs,
)
from metier.spec import parse_host
from metier.values import replace

from .package_prompts import approve_packages

__all__ = ["approve_named", "run_in", "run_script"]

_SESSION = "command-line"
_TIMED_OUT = 124
_MAX_INPUT = 64 * 1024 * 1024


@command("skill", "run")
@click.argument("skill", shell_complete=skill_names)
@click.argument("script", shell_complete=script_names)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--network",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Allow connections to this host, such as api.example.com or *.example.org:8443; may be repeated.",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME",
    shell_complete=secret_names,
    help="Use this stored secret; may be repeated.",
)
@click.option("--timeout", type=click.FloatRange(min=0.1), help="Seconds, at most skills.script_timeout (the default).")
@click.option("--stdin", "with_stdin", is_flag=True, help="Pass standard input to the script; by default its input is empty.")
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    help="Copy this output to the current folder; may be repeated.",
)
@workspace_options
def run_script(
    app: App, *, skill: str, script: str, arguments: tuple[str, ...], hosts: tuple[str, ...], secrets: tuple[str, ...],
    timeout: float | None, with_stdin: bool, outputs: tuple[str, ...], **folder: Any,
) -> Result:  # fmt: skip
    """Run a script of a skill in a sandbox.

    SCRIPT is scripts/chart.py, chart.py or chart. Put options of the script itself after --:

        metier skill run data-analysis analyze --stdin -- summary - --top 3 < sales.csv

    The script starts in the workspace, by default the current folder, and its changes are shown before they are applied.
    SKILL_DIR is the folder of the skill, and HOME an empty scratch folder. It can connect only to hosts that
    you name with --network, or that the skill declares and you allow. The exit code is that of the script, or 124 after a
    timeout; --json distinguishes it from an error of metier.
    """
    # Any: the options of the workspace.
    options = WorkspaceOptions(**folder)
    limit = app.sessions.options().limits.seconds
    if timeout is not None and timeout > limit:
        raise UsageError(
            f"--timeout {timeout:g} is more than skills.script_timeout, {limit:g} seconds",
            hint=f"raise it: metier config set skills.script_timeout {math.ceil(timeout)}",
        )
    stdin = sys.stdin.buffer.read(_MAX_INPUT) if with_stdin else None
    check_output_paths(app.folder, outputs)
    kept = app.sessions.is_writable
    workspace, remark = open_workspace(app, options)
    try:
        session = app.sessions.open(_SESSION, approve=approve_named(hosts, secrets), kept=kept, workspace=workspace)
        result = run_in(
            session,
            app.folder,
            skill,
            script,
            arguments,
            stdin=stdin,
            hosts=hosts,
            secrets=secrets,
            seconds=timeout,
            outputs=outputs,
        )
        if remark and result.data["exit_code"]:
            # It may have failed because it did not find the user's files.
            result = replace(result, info=remark)
        result = _with_changes(app, session, skill, result, yes=options.yes)
    finally:
        if workspace is not None:
            workspace.close()
    if kept:
        return result
    return replace(result, notes=(*result.notes, f"{app.paths.home} cannot be written, so this run is not in the statistics"))


def approve_named(hosts: Sequence[str], secrets: Sequence[str] = ()) -> ApprovalHook:
    """Returns a hook for a command that runs a script: the command is the approval of what it names.

    The user is asked for hosts and secrets that only the skill names. The policy still denies what it forbids.
    """
    named = {str(parse_host(host)) for host in hosts}
    ask = ask_on_terminal()

    def approve(question: Question) -> ApprovalAnswer | bool | Awaitable[ApprovalAnswer | bool]:
        request = question.request
        if request.tool == "Packages":
            return approve_packages(question)
        is_named = {
            "Network": request.argument in named,
            "Secret": request.argument.partition("@")[0] in secrets,
        }.get(request.tool, True)
        if is_named:
            return ApprovalAnswer.ONCE
        return ask(question) if ask else ApprovalAnswer.NO

    return approve


def _with_changes(app: App, session: Session, skill: str, result: Result, *, yes: bool) -> Result:
    if session.workspace is None:
        return replace(result, data={**result.data, "workspace": None})
    ask = not click.get_current_context().params["as_json"]
    if ask and can_ask():
        # Before the question about what it changed.
        sys.stdout.write(result.text or "")
        sys.stdout.flush()
        result = replace(result, text="")
    report = finish_workspace(app, session.workspace, session, [skill], yes=yes, ask=ask)
    data = {**result.data, "workspace": report.data}
    return replace(result, data=data, notes=(*result.notes, *report.notes), info=report.info)


def run_in(session: Session, folder: str, skill: str, script: str, arguments: Sequence[str], **options: Any) -> Result:
    """Runs a script in a session, which is closed afterwards. `folder` receives the outputs."""
    # Any: the options of `Session.run_script`.
    try:
        outcome = asyncio.run(session.run_script(skill, script, tuple(arguments), **options))
    finally:
        session.close()
    return _result(skill, script, outcome, write_outputs(folder, outcome.files))


def _result(skill: str, script: str, outcome: Outcome, paths: tuple[str, ...]) -> Result:
    data: dict[str, Any] = {
        "skill": skill,
        "script": script,
        "exit_code": outcome.exit_code,
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "stdout_truncated": outcome.stdout_truncated,
        "stderr_truncated": outcome.stderr_truncated,
        "timed_out": outcome.timed_out,
        "stop_reason": outcome.stop_reason,
        "duration": round(outcome.duration, 4),
        "peak_memory": outcome.peak_memory,
        "files": list(paths),
        "connections": [
            {
                "host": each.host,
                "port": each.port,
                "sent": each.sent,
                "received": each.received,
                "decision": each.decision,
                "note": each.note,
            }
            for each in outcome.connections
        ],
        "notes": list(outcome.notes),
        "isolation": {
            "level": outcome.isolation.level,
            "layers": list(outcome.isolation.layers),
            "missing": list(outcome.isolation.missing),
            "engine": outcome.isolation.engine,
        },
    }
    notes = []
    if outcome.stdout_truncated or outcome.stderr_truncated:
        notes.append("output limit reached: the rest of the output was discarded")
    if outcome.exit_code is None:
        notes.append("timed out" if outcome.timed_out else f"stopped: limit exceeded ({outcome.stop_reason})")
    notes += [f"{path} not copied: {reason}" for path, reason in outcome.refused_files]
    notes += [*connection_notes(outcome), *outcome.notes]
    status = outcome.exit_code if outcome.exit_code is not None else _TIMED_OUT if outcome.timed_out else 1
    text = printable(outcome.stdout)
    return Result(data=data, lines=lambda _: (), text=text, errors=printable(outcome.stderr), notes=tuple(notes), status=status)
