"""`metier skill activate`: print the text that a model gets."""

from __future__ import annotations

from typing import Any

import click

from metier.app import App
from metier.cli.completion import session_ids, skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.policy import ask_on_terminal
from metier.errors import UsageError, plural
from metier.runtime import ActivatedBy, ActivationMode, complete_id

__all__ = ["activate"]


@command("skill", "activate")
@click.argument("name", shell_complete=skill_names)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of a parameter; may be repeated.",
)
@click.option(
    "--session", "session_id", metavar="ID", shell_complete=session_ids, help="Activate it in this session, which is stored."
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in ActivationMode]),
    help="How long it stays active.  [default: session.mode]",
)
@click.option("--pin", is_flag=True, help="Never evict it from the session.")
def activate(
    app: App,
    *,
    name: str,
    arguments: tuple[str, ...],
    parameters: tuple[str, ...],
    session_id: str | None,
    mode: str | None,
    pin: bool,
) -> Result:
    """Print exactly the text that a model gets when a skill is activated.

    ARGUMENTS replace $ARGUMENTS. Without --session nothing is stored.
    """
    # An empty ID is an unset variable in a shell script, not a session.
    known = (each.id for each in app.sessions.store.sessions()) if session_id else ()
    session_id = (complete_id(session_id, known) or session_id) if session_id else None
    session = app.sessions.open(session_id, approve=ask_on_terminal(), kept=bool(session_id))
    try:
        activation = session.activate(
            name, by=ActivatedBy.USER, arguments=" ".join(arguments), parameters=dict(map(_pair, parameters)),
            mode=ActivationMode(mode) if mode else None, pinned=pin,
        )  # fmt: skip
    finally:
        session.close()
    data: dict[str, Any] = {
        "name": activation.name,
        "path": activation.path,
        "text": activation.text,
        "tokens": activation.tokens,
        "injected": activation.injected,
        "trimmed": activation.trimmed,
        "by": activation.by,
        "since": activation.since.isoformat(),
        "dependencies": list(activation.dependencies),
        "evicted": list(activation.evicted),
        "session": session.id if session_id else None,
    }
    size = f"about {plural(activation.tokens, 'token')}" + (", trimmed" if activation.trimmed else "")
    return Result(data=data, lines=lambda _: (), text=f"{activation.text}\n", info=size, notes=activation.warnings)


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise UsageError(f"{text!r} is not NAME=VALUE", hint="such as -p style=formal")
    return name, value
