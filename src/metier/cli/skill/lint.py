"""`metier skill lint`: check skills against the standard and good practice."""

from __future__ import annotations

import click

from metier.app import App
from metier.cli.completion import skills_or_paths
from metier.cli.core.dispatch import command
from metier.cli.core.report_formats import FORMATS, report_result
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.sources import DiskFiles
from metier.spec import lint as lint_skills

__all__ = ["lint"]


@command("skill", "lint")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skills_or_paths)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format.")
def lint(app: App, *, targets: tuple[str, ...], form: str) -> Result:
    """Check skills against the standard and good practice.

    Reports what validate reports, and advice: size, broken references, descriptions that do not say when to use the skill,
    commands without a version. Exits with 1 if there is an error; warnings and infos are advice.
    """
    folders = folders_named(app, targets)
    reports = lint_skills([(folder, DiskFiles(folder)) for folder in folders])
    return report_result(list(zip(folders, reports, strict=True)), verdict="lint", form=form, base=app.folder)
