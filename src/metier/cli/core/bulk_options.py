"""The options of commands that do work in several processes or on a Ray cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from metier.app import App

if TYPE_CHECKING:
    from metier.bulk import ResultJournal

__all__ = ["jobs_option", "journal_option", "on_option", "opened_journal"]

jobs_option = click.option("-j", "--jobs", type=click.IntRange(min=1), help="Work in this many processes.")
on_option = click.option(
    "--on", "where", metavar="ADDRESS", help="Work on a Ray cluster: ray://HOST:10001 or HOST:6379."
)  # fmt: skip
journal_option = click.option(
    "--journal", "journal_file", metavar="FILE", help="Keep results so far here, and skip what it has."
)


@contextlib.contextmanager
def opened_journal(app: App, file: str | None, result: type) -> Iterator[ResultJournal | None]:
    """Yields the journal of results of this version of metier; None without a file."""
    if file is None:
        yield None
        return
    # Imported here: few commands need it.
    from metier import __version__
    from metier.bulk import ResultJournal

    with ResultJournal(os.path.join(app.folder, os.path.expanduser(file)), result, version=__version__) as journal:
        yield journal
