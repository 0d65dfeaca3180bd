"""`metier completion`, and what the shell may complete."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from metier.app import App
from metier.errors import MetierError

from .core.dispatch import command, root_command
from .core.result import Result

__all__ = ["completion", "skill_names"]

_CLASSES: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


def skill_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    try:
        return [name for entry in App().catalog.entries if (name := entry.name).startswith(incomplete)]
    except (MetierError, OSError):
        # The command itself reports a broken configuration; completion stays silent.
        return []


@command("", "completion")
@click.argument("shell", type=click.Choice(tuple(_CLASSES)))
def completion(app: App, *, shell: str) -> Result:  # noqa: ARG001
    """Print a completion script for your shell.

    For bash, `eval "$(metier completion bash)"` in ~/.bashrc; zsh and fish likewise.
    """
    script = _CLASSES[shell](root_command(), {}, "metier", "_METIER_COMPLETE").source()
    return Result(data={"shell": shell, "script": script}, lines=lambda _: (script,))
