"""`metier completion`, and what the shell may complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from metier.app import App
from metier.errors import MetierError

from .core.dispatch import command, root_command
from .core.result import Result

__all__ = [
    "change_ids",
    "completion",
    "conversation_ids",
    "rule_codes",
    "script_names",
    "secret_names",
    "server_names",
    "session_ids",
    "setting_names",
    "setting_values",
    "skill_files",
    "skill_folders",
    "skill_names",
    "skills_or_paths",
    "target_names",
]

_CLASSES: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


def _completer(values: Callable[[App, click.Context], Iterable[str]]) -> Callable[..., list[str]]:
    """Returns a `shell_complete` function that offers these values."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
        # Of a list with commas, the last word is completed.
        start, comma, last = incomplete.rpartition(",")
        try:
            return [f"{start}{comma}{value}" for value in values(App(), context) if value.startswith(last)]
        except (MetierError, OSError):
            # The command itself reports a broken configuration; completion stays silent.
            return []

    return complete


def _targets(app: App, context: click.Context) -> Iterable[str]:  # noqa: ARG001
    from metier.hosts import HOSTS

    return (*sorted(HOSTS), "all-detected", "none")


def _settings(app: App, context: click.Context) -> Iterable[str]:  # noqa: ARG001
    from metier.config import KEYS

    return sorted(KEYS)


def _codes(app: App, context: click.Context) -> Iterable[str]:  # noqa: ARG001
    from metier.scan import RULES
    from metier.spec import CODES

    return sorted({*CODES, *(rule.code for rule in RULES.values())})


def _setting_values(app: App, context: click.Context) -> Iterable[str]:
    from metier.config import KEYS, SettingKind

    key = KEYS.get(context.params.get("key") or "")
    if key is None:
        return ()
    current = app.settings[key.name].value
    values = ("true", "false") if key.kind is SettingKind.BOOLEAN else key.order
    return values or ((str(current),) if isinstance(current, str | int | float) else ())


def _paths(app: App, context: click.Context) -> list[str]:
    """Returns the files of the skill that the command line names already."""
    name = context.params.get("skill") or context.params.get("name")
    entry = app.catalog.get(name) if name else None
    return sorted(file.path for file in app.skills.files_of(entry, offline=True).list()) if entry else []


def _scripts(app: App, context: click.Context) -> Iterable[str]:
    return (path.removeprefix("scripts/") for path in _paths(app, context) if path.startswith("scripts/"))


def _folders(app: App, context: click.Context) -> Iterable[str]:
    return sorted({path.rpartition("/")[0] for path in _paths(app, context) if "/" in path})


def skills_or_paths(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offers skills, and lets the shell offer files."""
    found = skill_names(context, parameter, incomplete)
    return [*map(CompletionItem, found), CompletionItem(incomplete, type="file")]


skill_names = _completer(lambda app, _: dict.fromkeys(entry.name for entry in app.catalog.entries))
target_names = _completer(_targets)
setting_names = _completer(_settings)
rule_codes = _completer(_codes)
script_names = _completer(_scripts)
session_ids = _completer(lambda app, _: (session.id for session in app.sessions.store.sessions()))
setting_values = _completer(_setting_values)
skill_files = _completer(_paths)
skill_folders = _completer(_folders)
secret_names = _completer(lambda app, _: dict.fromkeys(secret.name for secret, _kind in app.sessions.secrets.all()))
change_ids = _completer(lambda app, _: (one.id for one in app.workspaces.kept()))
server_names = _completer(lambda app, _: sorted(app.settings["skills.mcp"].value or ()))
conversation_ids = _completer(lambda app, _: (each.id for each in app.conversations.store.recent()))


@command("", "completion")
@click.argument("shell", type=click.Choice(tuple(_CLASSES)))
def completion(app: App, *, shell: str) -> Result:  # noqa: ARG001
    """Print a completion script for your shell.

    For bash, `eval "$(metier completion bash)"` in ~/.bashrc; zsh and fish likewise.
    """
    script = _CLASSES[shell](root_command(), {}, "metier", "_METIER_COMPLETE").source()
    return Result(data={"shell": shell, "script": script}, lines=lambda _: (script,))
