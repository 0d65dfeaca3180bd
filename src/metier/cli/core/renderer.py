"""Renders a command's result or error as text or as one JSON object, and writes it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from metier.errors import InvalidSkillError, MetierError

from .result import OutputError, Result
from .terminal import Terminal, strip_control_chars

__all__ = ["envelope", "render_error", "render_result"]

_ENVELOPE_VERSION = 1


def render_result(result: Result, title: str, *, as_json: bool) -> int:
    """Writes the result and returns the exit status. `title` is the command as it was typed."""
    paged = False
    if as_json or result.as_json:
        output = envelope(title, data=result.data, notes=result.notes)
    elif result.text is not None:
        output = _encode(strip_control_chars(result.text) if Terminal.of().is_tty else result.text)
    else:
        terminal = Terminal.of()
        lines = list(result.lines(terminal))
        output = _encode("".join(f"{line}\n" for line in lines))
        paged = result.pages and terminal.is_tty and len(lines) >= terminal.height
    if paged:
        _page(output, colour=Terminal.of().colour)
    else:
        _write(output)
    if not as_json:
        if result.errors:
            sys.stderr.write(strip_control_chars(_encode(result.errors).decode("utf-8")))
        for note in result.notes:
            _write_error_line(f"warning: {note}")
        for line in result.info.splitlines():
            _write_error_line(line)
    if result.cacheable and not paged and not result.notes:
        from .listing_cache import save_listing

        save_listing(output)
    return result.status


def render_error(error: MetierError, title: str, *, as_json: bool) -> int:
    """Writes the error with its notes and hint, and returns the exit status."""
    # Warnings collected before the failure; see BaseException.add_note.
    notes = tuple(getattr(error, "__notes__", ()))
    if as_json:
        _write(envelope(title, error=error, notes=notes))
        return error.exit_status
    for note in notes:
        _write_error_line(f"warning: {note}")
    _write_error_line(f"error: {error}")
    if isinstance(error, InvalidSkillError):
        for problem in error.report:
            _write_error_line(f"  {problem.where}: {problem.severity} {problem.code}: {problem.message}")
    if error.hint:
        _write_error_line(f"hint: {error.hint}")
    return error.exit_status


def envelope(
    title: str, *, data: Mapping[str, Any] | None = None, error: MetierError | None = None, notes: tuple[str, ...] = ()
) -> bytes:
    """Returns the JSON object that every command prints with --json."""
    body: dict[str, Any] = {"version": _ENVELOPE_VERSION, "command": title, "ok": error is None}
    if error is None:
        body["data"] = data
    else:
        body["error"] = {
            "code": error.code, "message": str(error), "hint": error.hint, "status": error.exit_status,
            "retryable": error.retryable,
        }  # fmt: skip
        if isinstance(error, InvalidSkillError):
            body["error"]["problems"] = [{slot: getattr(each, slot) for slot in each.__slots__} for each in error.report]
    if notes:
        body["warnings"] = list(notes)
    # A file name that is not UTF-8 arrives as lone surrogates, which become JSON escapes.
    # A type that JSON lacks, such as a date in the configuration, is written as text.
    return _encode(json.dumps(body, ensure_ascii=False, default=str) + "\n")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _page(output: bytes, *, colour: bool) -> None:
    import click

    from metier.sources import safe_environment

    os.environ.setdefault("LESS", "-FRX")
    # click looks up the pager on PATH.
    os.environ.update(safe_environment())
    click.echo_via_pager(output.decode("utf-8", "replace"), color=colour)


def _write(output: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror) from error


def _write_error_line(text: str) -> None:
    sys.stderr.write(strip_control_chars(_encode(text).decode("utf-8").replace("\n", " ")) + "\n")
