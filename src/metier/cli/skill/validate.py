"""`metier skill validate`: check skills against the standard."""

from __future__ import annotations

import os

import click

from metier.app import App
from metier.cli.completion import skills_or_paths
from metier.cli.core.dispatch import command
from metier.cli.core.report_formats import FORMATS, report_result
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.sources import DiskFiles
from metier.spec import Verdict, check

__all__ = ["validate"]


@command("skill", "validate")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skills_or_paths)
@click.option(
    "--verdict",
    type=click.Choice([verdict.value for verdict in Verdict]),
    default=Verdict.STRICT.value,
    show_default=True,
    help="strict: the text of the standard; lenient: what loads; compat: like the reference validator.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format.")
def validate(app: App, *, targets: tuple[str, ...], verdict: str, form: str) -> Result:
    """Check skills against the standard.

    Exits with 0 if every skill is valid and with 1 if not. Without a target it checks the current folder.
    """
    checked = [
        (folder, check(DiskFiles(folder), folder=os.path.basename(folder), verdict=Verdict(verdict)))
        for folder in folders_named(app, targets)
    ]
    return report_result(checked, verdict=verdict, form=form, base=app.folder)
