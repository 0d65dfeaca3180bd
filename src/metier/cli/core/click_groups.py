"""Any command line by click: every form of words, every mistake, every page of help, and what a shell may complete."""

from __future__ import annotations

import os
from typing import Any

import click

from metier.errors import UsageError, nearest

from .commands import DEFAULTS, GROUPS, usage
from .dispatch import CommandLineError, answer, command_at
from .options import Command, Declared

__all__ = ["root_command", "run_by_click"]


def run_by_click(words: list[str]) -> int:
    """The exit status. Misread tells a mistake in the words."""
    root = root_command()
    if "_METIER_COMPLETE" in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "metier", "_METIER_COMPLETE", os.environ["_METIER_COMPLETE"])
    try:
        with root.make_context("metier", words) as context:
            root.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        context_of = getattr(error, "ctx", None)
        title = context_of.command_path if context_of else "metier"
        raise CommandLineError(
            error.format_message().rstrip("."), hint=f"see `{title} --help`", path=title.split()[1:]
        ) from error
    return 0


def root_command() -> click.Group:
    return _Group("")


def _by_click(command: Command) -> click.Command:
    def call(**options: Any) -> None:  # Any: what click parsed
        # The words that were typed: `manage disable` is `disable` under a second name.
        title = click.get_current_context().command_path.partition(" ")[2]
        raise click.exceptions.Exit(answer(command, title, **options))

    params = [_parameter(each) if isinstance(each, Declared) else each for each in command.params]
    text = command.function.__doc__ or command.text
    return click.Command(command.name, callback=call, params=params, help=text, short_help=command.text)


def _parameter(declared: Declared) -> click.Parameter:
    settings = {**declared.settings, "type": click.Path()} if declared.settings.get("type") == "path" else declared.settings
    kind = click.Argument if declared.is_argument else click.Option
    return kind(list(declared.words), **settings)


class _Group(click.Group):
    """A group whose commands are imported when they are called, and whose help is the static table."""

    def __init__(self, path: str) -> None:
        super().__init__(name=path.rpartition(" ")[2] or "metier", invoke_without_command=True, callback=self._alone)
        self.path = path

    def _alone(self) -> None:
        """A group without a command is a question, and its page of commands the answer."""
        if click.get_current_context().invoked_subcommand is None:
            click.echo(usage(self.path))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.path in DEFAULTS and (not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))):
            args = [DEFAULTS[self.path], *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(GROUPS[self.path])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in GROUPS[self.path]:
            return None
        room = GROUPS[self.path][name][0]
        return _by_click(command_at(room)) if room else _Group(f"{self.path} {name}".strip())

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in GROUPS[self.path]:
            near = nearest(args[0], GROUPS[self.path])
            title = f"metier {self.path}".strip()
            raise UsageError(
                f"{title} has no command {args[0]!r}",
                hint=f"did you mean {near!r}?" if near else f"see `{title} --help`",
            )
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return usage(self.path)
