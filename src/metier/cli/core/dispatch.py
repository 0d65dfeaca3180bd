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

from metier.app import App
from metier.errors import InvalidSkillError, MetierError, NotFoundError, UsageError

from .commands import GROUPS
from .options import Command, Declared
from .result import OutputError, Result
from .terminal import Terminal, strip_control_chars

__all__ = ["CommandLineError", "answer", "command", "command_at", "envelope", "run"]

_ENVELOPE_VERSION = 1
_BUG = 70
_EVERYWHERE = (
    Declared(
        words=("--skills-dir",),
        settings={"type": "path", "help": "Search this folder instead of the project's own, and trust it."},
    ),
    Declared(words=("--json", "as_json"), settings={"is_flag": True, "help": "Answer with one JSON object, for programs."}),
)


class CommandLineError(UsageError):
    """A command line that click could not read, and the command that it was meant for."""

    def __init__(self, message: str, *, hint: str, path: list[str]) -> None:
        super().__init__(message, hint=hint)
        self.path = path


def run(words: list[str]) -> int:
    # What stands after `--` belongs to somebody else's command line.
    ours = words[: words.index("--")] if "--" in words else words
    as_json = "--json" in ours or "--format=json" in ours or ("--format", "json") in pairwise(ours)
    for stream in (sys.stdout, sys.stderr):
        # We write UTF-8 whatever the locale says, and no help page may fail on a tick.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        plain = None if "_METIER_COMPLETE" in os.environ else _plainly(words)
        if plain is not None:
            return plain()
        # Imported here: it brings click along, which costs as much as a start of Python.
        from .click_groups import run_by_click

        return run_by_click(words)
    except CommandLineError as error:
        return _fail(error, error.path, as_json)
    except MetierError as error:
        return _fail(error, _named(words), as_json)
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        return _fail(_disk_error(error), _named(words), as_json)
    except RecursionError:
        return _fail(MetierError("the input is nested too deeply", hint="flatten it"), _named(words), as_json)
    except Exception as error:
        # The last resort of the whole program: a bug of ours is told in one sentence too, and can be shown in full.
        if _is_abort(error):
            raise KeyboardInterrupt from None
        if os.environ.get("METIER_DEBUG"):
            raise
        bug = MetierError(
            f"metier made a mistake: {type(error).__name__}: {error}",
            hint="run it again with METIER_DEBUG=1 and report what it prints",
        )
        _fail(bug, _named(words), as_json)
        return _BUG


def _is_abort(error: Exception) -> bool:
    """Did somebody turn a question down? Without click nobody was asked one."""
    return "click" in sys.modules and isinstance(error, sys.modules["click"].Abort)


def command(group: str, name: str) -> Callable[[Callable[..., Result]], Command]:
    """Make a command of a function that takes an App and options and returns a Result."""

    def wrap(function: Callable[..., Result]) -> Command:
        own = reversed(getattr(function, "__click_params__", ()))
        return Command(name=name, function=function, params=(*own, *_EVERYWHERE), text=GROUPS[group][name][1])

    return wrap


def answer(command: Command, title: str, *, as_json: bool, skills_dir: str | None, **options: Any) -> int:  # Any: as declared
    """Do what a command was told, and show what came of it; its exit status. `title` are the words it was called by."""
    # An empty folder name is an unset variable in somebody's script, and must not mean "trust the current folder".
    result = command.function(App(folder=_here(), flags={"skills.dir": skills_dir or None}), **options)
    return _show(result, title, as_json=as_json)


def _plainly(words: list[str]) -> Callable[[], int] | None:
    """What a plain command line asks for; None if that takes click."""
    path = _named(words)
    room = GROUPS.get(" ".join(path[:-1]), {}).get(path[-1] if path else "", ("",))[0]
    if not room:
        return None
    found = command_at(room)
    options = found.read(words[len(path) :])
    return None if options is None else lambda: answer(found, " ".join(path), **options)


def command_at(room: str) -> Command:
    """The command that the table has as `module:name`."""
    module, _, attribute = room.partition(":")
    found: Command = getattr(import_module(module), attribute)
    return found


def envelope(
    title: str, *, data: Mapping[str, Any] | None = None, error: MetierError | None = None, notes: tuple[str, ...] = ()
) -> bytes:
    """The one JSON object that a command answers with."""
    body: dict[str, Any] = {"version": _ENVELOPE_VERSION, "command": title, "ok": error is None}
    if error is None:
        body["data"] = data
    else:
        body["error"] = {"code": error.code, "message": str(error), "hint": error.hint}
        if isinstance(error, InvalidSkillError):
            body["error"]["problems"] = [_problem_row(problem) for problem in error.report]
    if notes:
        body["warnings"] = list(notes)
    # A file name that is not UTF-8 reaches us as lone surrogates, which JSON writes as escapes.
    # What JSON has no word for, such as a date in the configuration, is written as text.
    return (json.dumps(body, ensure_ascii=False, default=str) + "\n").encode("utf-8", "backslashreplace")


def _problem_row(problem: Any) -> dict[str, Any]:  # Any: a Problem
    return {slot: getattr(problem, slot) for slot in problem.__slots__}


def _show(result: Result, title: str, *, as_json: bool) -> int:
    if as_json or result.as_json:
        output = envelope(title, data=result.data, notes=result.notes)
    elif result.text is not None:
        text = strip_control_chars(result.text) if Terminal.of().is_tty else result.text
        output = text.encode("utf-8", "backslashreplace")
    else:
        terminal = Terminal.of()
        lines = list(result.lines(terminal))
        output = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
        if result.pages and terminal.is_tty and len(lines) >= terminal.height:
            os.environ.setdefault("LESS", "-FRX")
            import click

            click.echo_via_pager(output.decode("utf-8", "replace"), color=terminal.colour)
            output = b""
    paged = not output
    if not paged:
        _write(output)
    if not as_json:
        if result.errors:
            sys.stderr.write(strip_control_chars(result.errors.encode("utf-8", "backslashreplace").decode("utf-8")))
        for note in result.notes:
            _tell(f"warning: {note}")
        if result.info:
            _tell(result.info)
    if result.remember and not paged and not result.notes:
        from .listing_cache import remember

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
        if isinstance(error, InvalidSkillError):
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
        raise OutputError(error.errno, error.strerror) from error


def _tell(text: str) -> None:
    line = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\n", " ")
    sys.stderr.write(strip_control_chars(line) + "\n")


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise NotFoundError("the current folder is gone", hint="change to a folder that exists") from None


def _disk_error(error: OSError) -> MetierError:
    what = f"{error.filename}: " if error.filename else ""
    return MetierError(
        f"{what}{(error.strerror or str(error)).lower()}", hint="check that the path exists and that you may use it"
    )


def _named(words: list[str]) -> list[str]:
    """The part of a command line that names the command."""
    path: list[str] = []
    for word in words:
        if word not in GROUPS.get(" ".join(path), {}):
            break
        path.append(word)
    return path
