"""`metier skill create`: a new skill, written whole or not at all."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line
from metier.errors import ConflictError, InvalidSkillError, NotFoundError, RefusedError, UsageError
from metier.sources import DiskFiles
from metier.spec import (
    MAX_DESCRIPTION_LENGTH,
    MAX_SKILL_FILE_BYTES,
    MemoryFiles,
    Report,
    SkillName,
    Verdict,
    check,
    fix_skill_file,
    render_skill_file,
)
from metier.spec.templates import SKILL_TEMPLATES

__all__ = ["create", "edit_file"]


@command("skill", "create")
@click.argument("name")
@click.option("-d", "--description", help="What it does and when to use it.")
@click.option(
    "-t", "--template", type=click.Choice(tuple(SKILL_TEMPLATES)), default="basic", show_default=True, help="How it begins."
)
@click.option("-f", "--file", "source", type=click.Path(), help="Take this SKILL.md as it is.")
@click.option("--edit", is_flag=True, help="Open it in $EDITOR.")
@click.option("--project", is_flag=True, help="In this project's .metier/skills instead of your own.")
@click.option("--dir", "parent", type=click.Path(), help="In this folder.")
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
    """Write a new skill.

    On a terminal it asks for what is missing. The result is checked at once, and an existing skill is never overwritten.
    """
    skill = SkillName(name)
    _is_text(description)
    folder = _folder(app, skill, project=project, parent=parent)
    if os.path.lexists(folder):
        raise ConflictError(f"{folder} exists already", hint="choose another name, or delete it first")
    if source is not None:
        files = {"SKILL.md": _taken(os.path.join(app.folder, os.path.expanduser(source)), skill)}
    else:
        files = _written(skill, description or _asked(), template)
    _place(folder, files)
    if edit:
        edit_file(os.path.join(folder, "SKILL.md"), app.environment)
    report = check(DiskFiles(folder), folder=skill.text)
    # A vendor's key breaks the standard and no client; an editor can break everything.
    usable = check(DiskFiles(folder), folder=skill.text, verdict=Verdict.LENIENT).ok
    return _result(skill, folder, report, usable=usable)


def _is_text(description: str | None) -> None:
    try:
        (description or "").encode()
    except UnicodeEncodeError:
        raise UsageError("the description is not UTF-8 text", hint="type it again in a UTF-8 terminal") from None


def _folder(app: App, name: SkillName, *, project: bool, parent: str | None) -> str:
    if project and parent:
        raise UsageError("--project and --dir exclude each other", hint="give one of them")
    if project:
        return os.path.join(app.folder, ".metier", "skills", name.text)
    return os.path.join(app.folder, os.path.expanduser(parent) if parent else app.installation.user_dir, name.text)


def _asked() -> str:
    if not sys.stdin.isatty():
        raise UsageError("a skill needs a description", hint="add --description 'What it does. Use when ...'")
    text: str = click.prompt("What does the skill do, and when should it be used?", err=True)
    _is_text(text)
    return text


def _written(name: SkillName, description: str, template: str) -> dict[str, bytes]:
    text = " ".join(description.split())
    if not text:
        raise UsageError("the description is empty", hint="say what the skill does and when to use it")
    if len(text) > MAX_DESCRIPTION_LENGTH:
        raise UsageError(f"the description has {len(text):,} characters", hint=f"{MAX_DESCRIPTION_LENGTH:,} are allowed")
    chosen = SKILL_TEMPLATES[template]
    title = name.text.replace("-", " ").capitalize()
    body = chosen.body.format(title=title, description=text)
    document = render_skill_file(name, text, body, metadata={"version": "0.1.0"})
    return {"SKILL.md": document.encode(), **{path: content.encode() for path, content in chosen.files.items()}}


def _taken(file: str, name: SkillName) -> bytes:
    """An existing SKILL.md under its new name; what is mechanical is repaired, what is not stops us."""
    try:
        with open(file, "rb") as stream:
            # One byte past the limit is enough to see that it is too long, and /dev/zero has no end.
            data = stream.read(MAX_SKILL_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {file!r}", hint="-f takes a SKILL.md") from None
    except IsADirectoryError:
        raise UsageError(f"{file!r} is a folder", hint="-f takes a SKILL.md") from None
    fixed = fix_skill_file(data, folder=name.text).data
    report = check(MemoryFiles({"SKILL.md": fixed}), folder=name.text)
    errors = tuple(problem for problem in report.errors if problem.code != "SK160")
    if errors:
        raise InvalidSkillError(
            f"{file} is not a skill that can be named {name}",
            report=Report(errors),
            hint="mend the file, then try again",
        )
    return fixed


def _place(folder: str, files: Mapping[str, bytes]) -> None:
    """Everything is written beside its place and moved there in one step, so a failure leaves nothing behind."""
    above = os.path.dirname(folder)
    os.makedirs(above, exist_ok=True)
    workshop = tempfile.mkdtemp(prefix=".metier-new-", dir=above)
    # No search for skills enters a folder of this name, so nobody meets half a skill.
    staged = os.path.join(workshop, ".cache")
    try:
        # Not private as mkdtemp would make it: a skill is read by whatever agent its owner runs.
        os.mkdir(staged, 0o755)
        for path, data in files.items():
            target = Path(staged, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            if path.startswith("scripts/"):
                target.chmod(0o755)
        os.rename(staged, folder)
        os.rmdir(workshop)
    except BaseException as error:
        shutil.rmtree(workshop, ignore_errors=True)
        if isinstance(error, OSError) and os.path.lexists(folder):
            # Somebody else made it between our look and our move.
            raise ConflictError(f"{folder} exists already", hint="choose another name, or delete it first") from error
        raise


def edit_file(file: str, environment: Mapping[str, str]) -> None:
    """Let the user's editor have it; Refused if that does not work."""
    editor = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        words = shlex.split(editor)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        raise RefusedError(f"the editor {editor!r} cannot be started", rule="editor", hint=f"set EDITOR; the file is at {file}")
    status = subprocess.run([*words, file], check=False).returncode
    if status:
        raise RefusedError(f"the editor ended with {status}", rule="editor", hint=f"the file is at {file}")


def _result(name: SkillName, folder: str, report: Report, *, usable: bool) -> Result:
    def lines(terminal: Terminal) -> Iterator[str]:
        yield f"{terminal.paint('✓', 'green')} created {name} in {one_line(folder)}"
        for problem in report:
            yield f"  {problem.where}: {problem.severity} {problem.code}: {one_line(problem.message)}"
        yield f"next: edit {one_line(os.path.join(folder, 'SKILL.md'))}, then `metier skill lint {name}`"

    rows = [{slot: getattr(problem, slot) for slot in problem.__slots__} for problem in report]
    return Result(data={"name": name.text, "folder": folder, "problems": rows}, lines=lines, status=0 if usable else 1)
