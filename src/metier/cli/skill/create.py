"""`metier skill create`: write a new skill."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.editor import edit_file
from metier.cli.core.questions import can_ask
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, shorten
from metier.errors import ConflictError, InvalidSkillError, NotFoundError, UsageError
from metier.evals import starter_evals, starter_tests
from metier.sources import DiskFiles, write_skill_folder
from metier.spec import (
    MAX_SKILL_FILE_BYTES,
    SKILL_FILE,
    SKILL_TEMPLATES,
    MemoryFiles,
    Problem,
    Report,
    SkillName,
    Verdict,
    check,
    fix_skill_file,
    new_skill_files,
    parse,
)

from . import create_wizard

__all__ = ["create", "created_result", "new_skill_folder"]


@command("skill", "create")
@click.argument("name", required=False)
@click.option("-d", "--description", help="What it does and when to use it.")
@click.option(
    "-t",
    "--template",
    type=click.Choice(tuple(SKILL_TEMPLATES)),
    help="Template to start from.  [default: basic]",
)
@click.option("-f", "--file", "source", type=click.Path(), help="Start from this SKILL.md; - is standard input.")
@click.option("--edit", is_flag=True, help="Open it in $EDITOR.")
@click.option("--project", is_flag=True, help="Create it in this project's .metier/skills.")
@click.option("--dir", "parent", type=click.Path(), help="Create it in this folder.")
def create(
    app: App,
    *,
    name: str | None,
    description: str | None,
    template: str | None,
    source: str | None,
    edit: bool,
    project: bool,
    parent: str | None,
) -> Result:
    """Create a new skill.

    On a terminal it asks for what is missing; without NAME it asks for everything. The result is validated, and an existing
    skill is never overwritten.
    """
    _is_text(description)
    if edit and not sys.stdin.isatty() and not (app.environment.get("VISUAL") or app.environment.get("EDITOR")):
        raise UsageError(
            "--edit needs a terminal, or an editor in $EDITOR", hint="leave out --edit, and edit the file afterwards"
        )
    # Asked for nothing: the whole wizard. Otherwise only for what is missing.
    wizard = name is None and source is None and can_ask()
    imported = _read_source(_source_path(app, source)) if source is not None else b""
    skill = SkillName(name or _name_in(imported) or _ask_name())
    project = project or (
        wizard and not parent and create_wizard.ask_place(shorten(app.installation.user_dir, app.paths.user_home))
    )
    folder = new_skill_folder(app, skill, project=project, parent=parent)
    if os.path.lexists(folder):
        # Before more questions are asked; `write_skill_folder` checks again.
        raise ConflictError(f"{folder} already exists", hint="choose another name, or delete it first")
    if source is not None:
        files = {SKILL_FILE: _import_skill(imported, source, skill)}
    else:
        text = description or _ask_description(skill)
        template = template or (create_wizard.ask_template() if wizard else "basic")
        files = new_skill_files(skill, text, template=template)
    if wizard:
        files |= _starters(files, create_wizard.ask_starters(has_scripts=any(path.startswith("scripts/") for path in files)))
    # A folder that was named, or the project's own, is in the project; the user's may be a link to anywhere.
    write_skill_folder(folder, files, inside=app.paths.inside(folder) if project or parent else None)
    if edit:
        edit_file(os.path.join(folder, SKILL_FILE), app.environment)
    report = check(DiskFiles(folder), folder=skill.text)
    # An unknown key is not valid, but loads in every client; an edit can make a file that does not load.
    usable = check(DiskFiles(folder), folder=skill.text, verdict=Verdict.LENIENT).ok
    # The next command finds it by name only where skills are searched.
    target = os.path.relpath(folder, app.folder) if parent else skill.text
    return created_result(skill, folder, report, usable=usable, target=target, home=app.paths.user_home)


def _is_text(description: str | None) -> None:
    try:
        (description or "").encode()
    except UnicodeEncodeError:
        raise UsageError("the description is not UTF-8 text", hint="type it again in a UTF-8 terminal") from None


def new_skill_folder(app: App, name: SkillName, *, project: bool, parent: str | None) -> str:
    if project and parent:
        raise UsageError("--project and --dir cannot be used together", hint="use one of them")
    if project:
        return os.path.join(app.paths.install_project, ".metier", "skills", name.text)
    return os.path.join(app.folder, os.path.expanduser(parent) if parent else app.installation.user_dir, name.text)


def _ask_name() -> str:
    if not can_ask():
        raise UsageError("a skill needs a name", hint="write: metier skill create NAME -d 'What it does. Use when ...'")
    return create_wizard.ask_name()


def _ask_description(skill: SkillName) -> str:
    if not can_ask():
        raise UsageError("a skill needs a description", hint="add --description 'What it does. Use when ...'")
    return create_wizard.ask_description(skill)


def _starters(files: Mapping[str, bytes], chosen: Collection[str]) -> dict[str, bytes]:
    manifest = parse(files[SKILL_FILE]).manifest
    starters: dict[str, bytes] = {}
    if "evals" in chosen and manifest is not None:
        starters["evals/eval_queries.json"] = starter_evals(manifest).encode()
    if "tests" in chosen:
        starters["tests/scripts.md"] = starter_tests(path for path in files if path.startswith("scripts/")).encode()
    return starters


def _source_path(app: App, source: str) -> str:
    return source if source == "-" else os.path.join(app.folder, os.path.expanduser(source))


def _name_in(data: bytes) -> str:
    """Returns the name that a SKILL.md gives itself; empty if it has none."""
    manifest = parse(data).manifest if data else None
    return manifest.name if manifest else ""


def _read_source(file: str) -> bytes:
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as stream:
            # One byte past the limit shows that it is too long; /dev/zero has no end.
            return stream.read(MAX_SKILL_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError(f"{file!r} does not exist", hint="-f takes a SKILL.md") from None
    except IsADirectoryError:
        raise UsageError(f"{file!r} is a folder", hint="-f takes a SKILL.md") from None


def _import_skill(data: bytes, file: str, name: SkillName) -> bytes:
    """Returns an existing SKILL.md unchanged if it is valid, else with its mechanical mistakes repaired.

    Raises if other errors are left.
    """
    if not _errors(data, name):
        return data
    fixed = fix_skill_file(data, folder=name.text).data
    errors = _errors(fixed, name)
    if errors:
        raise InvalidSkillError(
            f"{'standard input' if file == '-' else file} has errors that must be fixed first",
            report=Report(errors),
            hint="correct the file, then try again",
        )
    return fixed


def _errors(data: bytes, name: SkillName) -> tuple[Problem, ...]:
    report = check(MemoryFiles({"SKILL.md": data}), folder=name.text)
    return tuple(problem for problem in report.errors if problem.code != "SK160")


def created_result(name: SkillName, folder: str, report: Report, *, usable: bool, target: str, home: str) -> Result:
    def lines(terminal: Terminal) -> Iterator[str]:
        yield f"{terminal.paint('✓', 'green')} Created {name} in {one_line(shorten(folder, home))}"
        for problem in report:
            yield f"  {problem.where}: {problem.severity} {problem.code}: {one_line(problem.message)}"
        file = shorten(os.path.join(folder, SKILL_FILE), home)
        yield f"Next: edit {one_line(file)}, then `metier skill lint {one_line(target)}`"

    rows = [{slot: getattr(problem, slot) for slot in problem.__slots__} for problem in report]
    return Result(data={"name": name.text, "folder": folder, "problems": rows}, lines=lines, status=0 if usable else 1)
