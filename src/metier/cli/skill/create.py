"""`metier skill create`: write a new skill."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.editor import edit_file
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import ConflictError, InvalidSkillError, NotFoundError, UsageError
from metier.sources import DiskFiles, write_skill_folder
from metier.spec import (
    MAX_SKILL_FILE_BYTES,
    SKILL_FILE,
    SKILL_TEMPLATES,
    MemoryFiles,
    Report,
    SkillName,
    Verdict,
    check,
    fix_skill_file,
    new_skill_files,
)

__all__ = ["create"]


@command("skill", "create")
@click.argument("name")
@click.option("-d", "--description", help="What it does and when to use it.")
@click.option(
    "-t",
    "--template",
    type=click.Choice(tuple(SKILL_TEMPLATES)),
    default="basic",
    show_default=True,
    help="Template to start from.",
)
@click.option("-f", "--file", "source", type=click.Path(), help="Start from this SKILL.md.")
@click.option("--edit", is_flag=True, help="Open it in $EDITOR.")
@click.option("--project", is_flag=True, help="Create it in this project's .metier/skills.")
@click.option("--dir", "parent", type=click.Path(), help="Create it in this folder.")
def create(
    app: App,
    *,
    name: str,
    description: str | None,
    template: str,
    source: str | None,
    edit: bool,
    project: bool,
    parent: str | None,
) -> Result:
    """Create a new skill.

    On a terminal it asks for what is missing. The result is validated, and an existing skill is never overwritten.
    """
    skill = SkillName(name)
    _is_text(description)
    folder = _folder(app, skill, project=project, parent=parent)
    if os.path.lexists(folder):
        # Before any question is asked; `write_skill_folder` checks again.
        raise ConflictError(f"{folder} already exists", hint="choose another name, or delete it first")
    if source is not None:
        files = {SKILL_FILE: _import_skill(os.path.join(app.folder, os.path.expanduser(source)), skill)}
    else:
        files = new_skill_files(skill, description or _asked(), template=template)
    # A folder that was named, or the project's own, is in the project; the user's may be a link to anywhere.
    write_skill_folder(folder, files, inside=app.paths.inside(folder) if project or parent else None)
    if edit:
        edit_file(os.path.join(folder, SKILL_FILE), app.environment)
    report = check(DiskFiles(folder), folder=skill.text)
    # An unknown key is not valid, but loads in every client; an edit can make a file that does not load.
    usable = check(DiskFiles(folder), folder=skill.text, verdict=Verdict.LENIENT).ok
    return _result(skill, folder, report, usable=usable)


def _is_text(description: str | None) -> None:
    try:
        (description or "").encode()
    except UnicodeEncodeError:
        raise UsageError("the description is not UTF-8 text", hint="type it again in a UTF-8 terminal") from None


def _folder(app: App, name: SkillName, *, project: bool, parent: str | None) -> str:
    if project and parent:
        raise UsageError("--project and --dir cannot be used together", hint="use one of them")
    if project:
        return os.path.join(app.folder, ".metier", "skills", name.text)
    return os.path.join(app.folder, os.path.expanduser(parent) if parent else app.installation.user_dir, name.text)


def _asked() -> str:
    if not sys.stdin.isatty():
        raise UsageError("a skill needs a description", hint="add --description 'What it does. Use when ...'")
    text: str = click.prompt("What does the skill do, and when should it be used?", err=True)
    _is_text(text)
    return text


def _import_skill(file: str, name: SkillName) -> bytes:
    """Returns an existing SKILL.md with its new name and mechanical mistakes repaired. Raises if other errors are left."""
    try:
        with open(file, "rb") as stream:
            # One byte past the limit shows that it is too long; /dev/zero has no end.
            data = stream.read(MAX_SKILL_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError(f"{file!r} does not exist", hint="-f takes a SKILL.md") from None
    except IsADirectoryError:
        raise UsageError(f"{file!r} is a folder", hint="-f takes a SKILL.md") from None
    fixed = fix_skill_file(data, folder=name.text).data
    report = check(MemoryFiles({"SKILL.md": fixed}), folder=name.text)
    errors = tuple(problem for problem in report.errors if problem.code != "SK160")
    if errors:
        raise InvalidSkillError(
            f"{file} has errors that must be fixed first",
            report=Report(errors),
            hint="correct the file, then try again",
        )
    return fixed


def _result(name: SkillName, folder: str, report: Report, *, usable: bool) -> Result:
    def lines(terminal: Terminal) -> Iterator[str]:
        yield f"{terminal.paint('✓', 'green')} Created {name} in {one_line(folder)}"
        for problem in report:
            yield f"  {problem.where}: {problem.severity} {problem.code}: {one_line(problem.message)}"
        yield f"Next: edit {one_line(os.path.join(folder, SKILL_FILE))}, then `metier skill lint {name}`"

    rows = [{slot: getattr(problem, slot) for slot in problem.__slots__} for problem in report]
    return Result(data={"name": name.text, "folder": folder, "problems": rows}, lines=lines, status=0 if usable else 1)
