"""Runs one command line: click parses it, the command returns a Result, the renderer writes it.

To write a command, declare it with click's own decorators, take an App and the options, and return a Result:

    @command("skill", "show")
    @click.argument("name")
    @click.option("--raw", is_flag=True, help="Print SKILL.md unchanged.")
    def show(app: App, *, name: str, raw: bool) -> Result:
        \"\"\"Show one skill.\"\"\"
        ...
        return Result(data={...}, lines=lambda terminal: ...)

It lives in `cli/GROUP/COMMAND.py` and has a row in `commands.py`, which holds its one-line help; the docstring is its help
page. `--json` and `--skills-dir` are added to every command. A command never prints and never exits: it raises a MetierError
or returns a Result. What it does besides parsing and rendering is a function of the package that it belongs to.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from metier.app import App
from metier.errors import MetierError, NotFoundError, UsageError, nearest

from .commands import ALIASES, DEFAULTS, GROUPS, find_command, usage
from .examples import EXAMPLES
from .renderer import render_error, render_result
from .result import OutputError, Result

if TYPE_CHECKING:
    from metier.sources import Grant

__all__ = ["command", "root_command", "run"]

_INTERNAL_ERROR = 70
_COMPLETION = "_METIER_COMPLETE"


class _CommandLineError(UsageError):
    """Click could not parse the command line; `title` is the command that it was meant for."""

    def __init__(self, message: str, *, hint: str, title: str) -> None:
        super().__init__(message, hint=hint)
        self.title = title


def run(words: list[str]) -> int:
    """Runs the command line and returns the exit status. Every error becomes one sentence and a hint."""
    # Words after `--` belong to another program's command line.
    ours = words[: words.index("--")] if "--" in words else words
    as_json = "--json" in ours or "--format=json" in ours or ("--format", "json") in pairwise(ours)
    for stream in (sys.stdout, sys.stderr):
        # Output is UTF-8 in every locale.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    title = _title(words)
    try:
        return _invoke(words)
    except click.Abort:
        raise KeyboardInterrupt from None
    except _CommandLineError as error:
        return render_error(error, error.title, as_json=as_json)
    except MetierError as error:
        return render_error(error, title, as_json=as_json)
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        return render_error(_disk_error(error), title, as_json=as_json)
    except RecursionError:
        return render_error(MetierError("the input is nested too deeply", hint="flatten it"), title, as_json=as_json)
    except Exception as error:
        if os.environ.get("METIER_DEBUG"):
            raise
        bug = MetierError(
            f"Internal error: {type(error).__name__}: {error}",
            hint="run the command again with METIER_DEBUG=1 and report the traceback",
        )
        render_error(bug, title, as_json=as_json)
        return _INTERNAL_ERROR


def command(group: str, name: str) -> Callable[[Callable[..., Result]], click.Command]:
    """Makes a click command of a function that takes an App and options and returns a Result."""

    def wrap(function: Callable[..., Result]) -> click.Command:
        def call(*, as_json: bool, skills_dir: str | None, **options: Any) -> None:  # Any: as declared
            # An empty name comes from an unset variable in a script, and must not mean "trust the current folder".
            app = App(folder=_current_folder(), flags={"skills.dir": skills_dir or None})
            if sys.stdin.isatty() and sys.stderr.isatty():
                app.ask_grant = _ask_grant
            result = function(app, **options)
            # The words that were typed: `skill manage disable` is a second name of `skill disable`.
            title = click.get_current_context().command_path.partition(" ")[2]
            raise click.exceptions.Exit(render_result(result, title, as_json=as_json))

        text = GROUPS[group][name][1]
        params = [*reversed(getattr(function, "__click_params__", ())), *_common_options()]
        return _Command(
            name,
            callback=call,
            params=params,
            help=function.__doc__ or text,
            short_help=text,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    return wrap


def root_command() -> click.Group:
    return _Group("")


def _common_options() -> list[click.Parameter]:
    return [_GlobalOption(["--skills-dir"], type=click.Path()), _GlobalOption(["--json", "as_json"], is_flag=True)]


def _invoke(words: list[str]) -> int:
    root = root_command()
    if _COMPLETION in os.environ:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "metier", _COMPLETION, os.environ[_COMPLETION])
    try:
        with root.make_context("metier", words) as context:
            root.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        context_of = getattr(error, "ctx", None)
        path = context_of.command_path if context_of else "metier"
        raise _CommandLineError(
            error.format_message().rstrip("."), hint=f"see `{path} --help`", title=path.partition(" ")[2]
        ) from error
    return 0


class _GlobalOption(click.Option):
    """An option of every command: `metier --help` describes it, and the pages of commands do not repeat it."""

    def get_help_record(self, ctx: click.Context) -> None:  # noqa: ARG002
        return None


class _Command(click.Command):
    """A command whose help page ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        path = ctx.command_path.partition(" ")[2]
        # `skill manage update` is `skill update`.
        examples = EXAMPLES.get(path) or EXAMPLES[path.replace("skill manage", "skill")]
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        formatter.write_paragraph()
        formatter.write("--json and --skills-dir work with every command; see `metier --help`.\n")


class _Group(click.Group):
    """A group that imports a command when it is called and prints its help from the table."""

    def __init__(self, path: str) -> None:
        super().__init__(
            name=path.rpartition(" ")[2] or "metier",
            invoke_without_command=True,
            callback=self._show_help,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        self.path = path

    def _show_help(self) -> None:
        if click.get_current_context().invoked_subcommand is None:
            click.echo(usage(self.path))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.path in DEFAULTS and (not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))):
            args = [DEFAULTS[self.path], *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*GROUPS[self.path], *ALIASES.get(self.path, ())]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        found_name = find_command(self.path, name)
        if found_name is None:
            return None
        group, name = found_name
        location = GROUPS[group][name][0]
        if not location:
            return _Group(f"{group} {name}".strip())
        module, _, attribute = location.partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and find_command(self.path, args[0]) is None:
            title = f"metier {self.path}".strip()
            near = _nearest_command(self.path, args[0])
            raise UsageError(
                f"{title} has no command {args[0]!r}", hint=f"did you mean {near}?" if near else f"see `{title} --help`"
            )
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return usage(self.path)


def _ask_grant(grant: Grant) -> bool:
    # Imported here: few projects ask for anything.
    from metier.install import grant_purpose

    from .terminal import one_line

    question = one_line(f"The settings of {grant.folder} want to {grant_purpose(grant.name, grant.host)}. Allow it?")
    return click.confirm(question, default=False, err=True)


def _nearest_command(group: str, word: str) -> str:
    """Returns the command that was probably meant: this name in another group, or a similar one in this group."""
    if word in GROUPS["skill"]:
        return f"`metier skill {word}`"
    elsewhere = [f"`metier {path} {word}`" for path, names in GROUPS.items() if path and word in names]
    if 0 < len(elsewhere) < 3:
        return " or ".join(elsewhere)
    here = {**{name: f"{group} {name}".strip() for name in GROUPS[group]}, **ALIASES.get(group, {})}
    near = nearest(word, here)
    return f"`metier {here[near]}`" if near else ""


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFoundError("the current folder no longer exists", hint="change to a folder that exists") from None


_DISK_HINTS = {
    errno.ENOSPC: "free some space on that disk, then try again; nothing was left half written",
    errno.EDQUOT: "free some space, or ask for a larger quota",
    errno.EROFS: "that disk cannot be written; set METIER_HOME to a folder on another one",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ENAMETOOLONG: "use a shorter name",
}


def _disk_error(error: OSError) -> MetierError:
    what = f"{error.filename}: " if error.filename else ""
    reason = (error.strerror or str(error)).lower()
    hint = _DISK_HINTS.get(error.errno or 0, "check that the path exists and its permissions")
    is_place = error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENOENT)
    if is_place and (home := _unusable_home(error.filename)):
        return MetierError(f"{home} cannot be metier's home: {reason}", hint="set METIER_HOME to a folder that can be created")
    return MetierError(f"{what}{reason}", hint=hint)


def _unusable_home(path: object) -> str:
    """Returns metier's home if this path is in it and it is not a folder."""
    home = os.environ.get("METIER_HOME") or os.path.join(os.path.expanduser("~"), ".metier")
    inside = isinstance(path, str) and home and f"{path}/".startswith(f"{home}/")
    return home if inside and not os.path.isdir(home) else ""


def _title(words: list[str]) -> str:
    """Returns the words that name the command."""
    path: list[str] = []
    for word in words:
        if word not in GROUPS.get(" ".join(path), {}):
            break
        path.append(word)
    return " ".join(path)
