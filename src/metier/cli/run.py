"""Words to a command, its result to the screen, and every error to one sentence, a hint and an exit code."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from typing import Any

import click

from metier.app import App
from metier.errors import BadUsage, InvalidSkill, MetierError, NotFound, nearest

from .commands import DEFAULTS, GROUPS, usage
from .result import Result, Unwritten
from .terminal import Terminal, unarmed

__all__ = ["command", "envelope", "root_command", "run"]

_ENVELOPE_VERSION = 1
_BUG = 70


def run(words: list[str]) -> int:
    # What stands after `--` belongs to somebody else's command line.
    ours = words[: words.index("--")] if "--" in words else words
    as_json = "--json" in ours or "--format=json" in ours or ("--format", "json") in pairwise(ours)
    path: list[str] = []
    for stream in (sys.stdout, sys.stderr):
        # We write UTF-8 whatever the locale says, and no help page may fail on a tick.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        root = root_command()
        if "_METIER_COMPLETE" in os.environ:
            from click.shell_completion import shell_complete

            return shell_complete(root, {}, "metier", "_METIER_COMPLETE", os.environ["_METIER_COMPLETE"])
        with root.make_context("metier", words) as context:
            root.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        path = _command_path(error)
        return _fail(_usage_error(error), path, as_json)
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except MetierError as error:
        return _fail(error, path or _named(words), as_json)
    except (BrokenPipeError, Unwritten):
        raise
    except OSError as error:
        return _fail(_disk_error(error), path or _named(words), as_json)
    except RecursionError:
        return _fail(MetierError("the input is nested too deeply", hint="flatten it"), _named(words), as_json)
    except Exception as error:
        # The last resort of the whole program: a bug of ours is told in one sentence too, and can be shown in full.
        if os.environ.get("METIER_DEBUG"):
            raise
        bug = MetierError(
            f"metier made a mistake: {type(error).__name__}: {error}",
            hint="run it again with METIER_DEBUG=1 and report what it prints",
        )
        _fail(bug, _named(words), as_json)
        return _BUG
    return 0


def root_command() -> click.Group:
    return _Group("")


def command(group: str, name: str) -> Callable[[Callable[..., Result]], click.Command]:
    """Make a click command of a function that takes an App and options and returns a Result."""

    def wrap(function: Callable[..., Result]) -> click.Command:
        def call(*, as_json: bool, skills_dir: str | None, **options: Any) -> None:  # Any: what click parsed
            # The words that were typed: `manage disable` is `disable` under a second name.
            title = click.get_current_context().command_path.partition(" ")[2]
            # An empty folder name is an unset variable in somebody's script, and must not mean "trust the current folder".
            result = function(App(folder=_here(), flags={"skills.dir": skills_dir or None}), **options)
            status = _show(result, title, as_json=as_json)
            raise click.exceptions.Exit(status)

        params = getattr(function, "__click_params__", [])
        params.reverse()
        params += [
            click.Option(
                ["--skills-dir"],
                type=click.Path(),
                help="Search this folder instead of the project's own, and trust it.",
            ),
            click.Option(["--json", "as_json"], is_flag=True, help="Answer with one JSON object, for programs."),
        ]
        text = GROUPS[group][name][1]
        return click.Command(name, callback=call, params=params, help=function.__doc__ or text, short_help=text)

    return wrap


def envelope(
    title: str, *, data: Mapping[str, Any] | None = None, error: MetierError | None = None, notes: tuple[str, ...] = ()
) -> bytes:
    """The one JSON object that a command answers with."""
    body: dict[str, Any] = {"version": _ENVELOPE_VERSION, "command": title, "ok": error is None}
    if error is None:
        body["data"] = data
    else:
        body["error"] = {"code": error.code, "message": str(error), "hint": error.hint}
        if isinstance(error, InvalidSkill):
            body["error"]["problems"] = [_problem_row(problem) for problem in error.report]
    if notes:
        body["warnings"] = list(notes)
    # A file name that is not UTF-8 reaches us as lone surrogates, which JSON writes as escapes.
    # What JSON has no word for, such as a date in the configuration, is written as text.
    return (json.dumps(body, ensure_ascii=False, default=str) + "\n").encode("utf-8", "backslashreplace")


def _problem_row(problem: Any) -> dict[str, Any]:  # Any: a Problem
    return {slot: getattr(problem, slot) for slot in problem.__slots__}


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
        module = GROUPS[self.path][name][0]
        if not module:
            return _Group(f"{self.path} {name}".strip())
        room, _, attribute = module.partition(":")
        found: click.Command = getattr(import_module(room), attribute)
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in GROUPS[self.path]:
            near = nearest(args[0], GROUPS[self.path])
            title = f"metier {self.path}".strip()
            raise BadUsage(
                f"{title} has no command {args[0]!r}",
                hint=f"did you mean {near!r}?" if near else f"see `{title} --help`",
            )
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return usage(self.path)


def _show(result: Result, title: str, *, as_json: bool) -> int:
    if as_json or result.as_json:
        output = envelope(title, data=result.data, notes=result.notes)
    elif result.text is not None:
        text = unarmed(result.text) if Terminal.of().is_tty else result.text
        output = text.encode("utf-8", "backslashreplace")
    else:
        terminal = Terminal.of()
        lines = list(result.lines(terminal))
        output = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
        if result.pages and terminal.is_tty and len(lines) >= terminal.height:
            os.environ.setdefault("LESS", "-FRX")
            click.echo_via_pager(output.decode("utf-8", "replace"), color=terminal.colour)
            output = b""
    paged = not output
    if not paged:
        _write(output)
    if not as_json:
        if result.errors:
            sys.stderr.write(unarmed(result.errors.encode("utf-8", "backslashreplace").decode("utf-8")))
        for note in result.notes:
            _tell(f"warning: {note}")
        if result.info:
            _tell(result.info)
    if result.remember and not paged and not result.notes:
        from .remembered import remember

        remember(output)
    return result.status


def _fail(error: MetierError, path: list[str], as_json: bool) -> int:
    # What was to be told besides, before it failed; see BaseException.add_note.
    notes = tuple(getattr(error, "__notes__", ()))
    if as_json:
        _write(envelope(" ".join(path), error=error, notes=notes))
    else:
        for note in notes:
            _tell(f"warning: {note}")
        _tell(f"error: {error}")
        if isinstance(error, InvalidSkill):
            for problem in error.report:
                _tell(f"  {problem.where}: {problem.severity} {problem.code}: {problem.message}")
        if error.hint:
            _tell(f"hint: {error.hint}")
    return error.exit_status


def _write(output: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritten(error.errno, error.strerror) from error


def _tell(text: str) -> None:
    line = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\n", " ")
    sys.stderr.write(unarmed(line) + "\n")


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFound("the current folder is gone", hint="change to a folder that exists") from None


def _usage_error(error: click.ClickException) -> MetierError:
    context = getattr(error, "ctx", None)
    title = context.command_path if context else "metier"
    return BadUsage(error.format_message().rstrip("."), hint=f"see `{title} --help`")


def _disk_error(error: OSError) -> MetierError:
    what = f"{error.filename}: " if error.filename else ""
    return MetierError(
        f"{what}{(error.strerror or str(error)).lower()}", hint="check that the path exists and that you may use it"
    )


def _command_path(error: click.ClickException) -> list[str]:
    context = getattr(error, "ctx", None)
    return context.command_path.split()[1:] if context else []


def _named(words: list[str]) -> list[str]:
    """The part of a command line that names the command."""
    path: list[str] = []
    for word in words:
        if word not in GROUPS.get(" ".join(path), {}):
            break
        path.append(word)
    return path
