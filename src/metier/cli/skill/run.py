"""`metier skill run`: a script of a skill, confined, as a person starts it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal
from metier.errors import ConflictError
from metier.runtime import ApprovalAnswer, Outcome
from metier.runtime import printable as printable

__all__ = ["run_script"]

_SESSION = "command-line"
_TIMED_OUT = 124
_LARGEST_INPUT = 64 * 1024 * 1024


@command("skill", "run")
@click.argument("skill", shell_complete=skill_names)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--network", is_flag=True, help="Let it use the network.")
@click.option("--timeout", type=click.FloatRange(min=0.1), help="Seconds; at most skills.script_timeout, which is the default.")
@click.option("--stdin", "with_stdin", is_flag=True, help="Pass our standard input on to it; without, its input is empty.")
@click.option(
    "-o", "--output", "outputs", multiple=True, metavar="FILE", help="Bring back a file that it wrote; may be repeated."
)
def run_script(
    app: App, *, skill: str, script: str, arguments: tuple[str, ...], network: bool, timeout: float | None, with_stdin: bool,
    outputs: tuple[str, ...],
) -> Result:  # fmt: skip
    """Run a script of a skill in a sandbox.

    SCRIPT is scripts/chart.py, chart.py or chart. Put options of the script itself after --:

        metier skill run data-analysis analyze --stdin -- summary - --top 3 < sales.csv

    It sees the skill's folder read-only, an empty scratch folder as its home, and no network. Ends with the script's own
    exit code, or with 124 when its time was up; --json tells a script's code from one of ours.
    """
    stdin = sys.stdin.buffer.read(_LARGEST_INPUT) if with_stdin else None
    _free(app, outputs)
    # Whoever types the command has decided; what the policy forbids stays forbidden.
    session = app.sessions.open(_SESSION, approve=lambda _: ApprovalAnswer.ONCE)
    try:
        work = session.run_script(skill, script, arguments, stdin=stdin, network=network, seconds=timeout, outputs=outputs)
        outcome = asyncio.run(work)
    finally:
        session.close()
    written = [_write(app, file.path, file.data) for file in outcome.files]
    return _result(skill, script, outcome, written)


def _result(skill: str, script: str, outcome: Outcome, written: list[str]) -> Result:
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
        "files": written,
        "isolation": {
            "level": outcome.isolation.level,
            "layers": list(outcome.isolation.layers),
            "missing": list(outcome.isolation.missing),
        },
    }
    notes = []
    if outcome.stdout_truncated or outcome.stderr_truncated:
        notes.append("it printed more than is kept; the rest was cut off")
    if outcome.exit_code is None:
        notes.append("its time was up" if outcome.timed_out else f"it was stopped ({outcome.stop_reason})")
    notes += [f"{path} was not brought back: {why}" for path, why in outcome.refused_files]
    status = outcome.exit_code if outcome.exit_code is not None else _TIMED_OUT if outcome.timed_out else 1
    text = printable(outcome.stdout)
    return Result(data=data, lines=_nothing, text=text, errors=printable(outcome.stderr), notes=tuple(notes), status=status)


def _nothing(_: Terminal) -> Iterator[str]:
    return iter(())


def _free(app: App, outputs: tuple[str, ...]) -> None:
    """Say so before the script runs, and not after."""
    for name in outputs:
        if os.path.lexists(os.path.join(app.folder, os.path.basename(name))):
            raise ConflictError(
                f"{os.path.basename(name)!r} exists here already", hint="move it away, or run the command elsewhere"
            )


def _write(app: App, path: str, data: bytes) -> str:
    file = os.path.join(app.folder, os.path.basename(path))
    # Made by us or not at all: nothing that appeared meanwhile is written over or followed.
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
    return file
