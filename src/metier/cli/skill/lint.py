"""`metier skill lint`: check skills against the standard and good practice."""

from __future__ import annotations

import os

import click

from metier.app import App
from metier.cli.completion import skills_or_paths
from metier.cli.core.dispatch import command
from metier.cli.core.report_formats import FORMATS, report_result
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.errors import MetierError
from metier.sources import DiskFiles
from metier.spec import MAX_SKILL_FILE_BYTES, SKILL_FILE, Report, parse
from metier.spec import lint as lint_skills

__all__ = ["lint"]


@command("skill", "lint")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skills_or_paths)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format.")
def lint(app: App, *, targets: tuple[str, ...], form: str) -> Result:
    """Check skills against the standard and good practice.

    Reports what validate reports, and advice: size, broken references, descriptions that do not say when to use the skill,
    commands without a version, a list of capabilities that differs from what the files do. Exits with 1 if there is an error;
    warnings and infos are advice.
    """
    folders = folders_named(app, targets)
    skills = [(folder, DiskFiles(folder)) for folder in folders]
    reports = [report + _declared(folder, files) for report, (folder, files) in zip(lint_skills(skills), skills, strict=True)]
    return report_result(list(zip(folders, reports, strict=True)), verdict="lint", form=form, base=app.folder)


def _declared(folder: str, files: DiskFiles) -> Report:
    """Returns where the author's list of capabilities and the files differ. A skill without a list is not scanned."""
    try:
        manifest = parse(files.read(SKILL_FILE, limit=MAX_SKILL_FILE_BYTES), folder=os.path.basename(folder)).manifest
    except MetierError:
        return Report()
    if manifest is None or manifest.extensions.capabilities is None:
        return Report()
    # Imported here: most skills declare no list, and the rules take longer to load than the rest of lint.
    from metier.scan import capability_problems, scan

    report = scan(files, folder=os.path.basename(folder), manifest=manifest)
    return Report.of(capability_problems(report.used, manifest))
