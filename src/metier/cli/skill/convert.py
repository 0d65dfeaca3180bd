"""`metier skill convert`: makes skills of rules, commands, prompts and sections of AGENTS.md."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from difflib import unified_diff

import click

from metier.app import App
from metier.cli.core.dispatch import command
from metier.cli.core.questions import ask_yes_no, can_ask
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, paint_diff, plural, shorten
from metier.errors import ConflictError, NotFoundError, UsageError
from metier.hosts import ConvertedSkill, convert_file, is_convertible
from metier.sources import read_regular, write_skill_folder
from metier.spec import SKILL_FILE, MemoryFiles, Problem, lint

__all__ = ["convert"]

_PLACES = (
    ".cursor/rules", ".cursor/commands", ".claude/commands", ".codex/prompts", ".github/prompts", ".github/instructions",
)  # fmt: skip
_MOST = 500


@command("skill", "convert")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--section", "sections", multiple=True, help="Only this section of AGENTS.md; repeatable.")
@click.option("--project", is_flag=True, help="Write to the skills of this project.")
@click.option("--dir", "parent", help="Write to this folder.")
@click.option("--dry-run", is_flag=True, help="Show the skills and write nothing.")
@click.option("-y", "--yes", is_flag=True, help="Write without a question.")
def convert(
    app: App, *, paths: tuple[str, ...], sections: tuple[str, ...], project: bool, parent: str | None, dry_run: bool, yes: bool
) -> Result:
    """Make skills of rules, commands and prompts.

    PATH is a rule of Cursor (.mdc), a command of Claude Code, Codex or Cursor (.md), a prompt or instructions of Copilot
    (.prompt.md, .instructions.md), AGENTS.md or CLAUDE.md, or a folder with some of them. A section of AGENTS.md becomes one
    skill. `globs` and `alwaysApply` become the sentence that says when to use the skill; arguments become `$ARGUMENTS`.

    The new files are shown as a diff before they are written. The sources stay; delete them when you are content.
    """
    if project and parent:
        raise UsageError("--project and --dir cannot be used together", hint="use one of them")
    found = [one for path in paths for one in _converted(app, path, sections)]
    _refuse_twins([skill for _, skill in found])
    folders = [_folder(app, skill.name, project=project, parent=parent) for _, skill in found]
    for folder in folders:
        if os.path.lexists(folder):
            raise ConflictError(f"{folder} already exists", hint="delete it first, or write elsewhere with --dir")
    write = yes and not dry_run
    if not write and not dry_run and can_ask():
        for line in _preview(found, Terminal.of(sys.stderr)):
            click.echo(line, err=True)
        write = ask_yes_no(f"Write {plural(len(found), 'skill')}?", default=True)
    if write:
        for (_, skill), folder in zip(found, folders, strict=True):
            inside = app.paths.inside(folder) if project or parent else None
            write_skill_folder(folder, {SKILL_FILE: skill.text.encode()}, inside=inside)
    return _result(app, found, folders, written=write, shown=not write and not dry_run and can_ask())


def _converted(app: App, path: str, sections: tuple[str, ...]) -> Iterator[tuple[str, ConvertedSkill]]:
    absolute = os.path.join(app.folder, os.path.expanduser(path))
    if os.path.isdir(absolute):
        files = list(_files(absolute))
        if not files:
            raise NotFoundError(f"no rules, commands or prompts in {path}", hint="name a file")
    elif os.path.lexists(absolute):
        files = [absolute]
    else:
        raise NotFoundError(f"{path} does not exist", hint="name a .mdc or .md file, or a folder with them")
    for file in files:
        shown = path if file == absolute else os.path.join(path, os.path.relpath(file, absolute))
        yield from ((shown, skill) for skill in convert_file(file, read_regular(file), sections=sections))


def _files(folder: str) -> Iterator[str]:
    """Yields the files of a folder that agents keep rules and commands in; of a project, those in the usual places."""
    places = [os.path.join(folder, place) for place in _PLACES if os.path.isdir(os.path.join(folder, place))]
    count = 0
    for place in places or [folder]:
        for parent, names, files in os.walk(place):
            names.sort()
            for name in sorted(files):
                if is_convertible(name) and name.lower() != "readme.md" and count < _MOST:
                    count += 1
                    yield os.path.join(parent, name)


def _refuse_twins(skills: list[ConvertedSkill]) -> None:
    names = [skill.name for skill in skills]
    twin = next((name for name in names if names.count(name) > 1), None)
    if twin:
        raise ConflictError(f"two of the sources would become the skill {twin!r}", hint="convert them one by one with --dir")


def _folder(app: App, name: str, *, project: bool, parent: str | None) -> str:
    if project:
        return os.path.join(app.paths.install_project, ".metier", "skills", name)
    return os.path.join(app.folder, os.path.expanduser(parent) if parent else app.installation.user_dir, name)


def _preview(found: list[tuple[str, ConvertedSkill]], terminal: Terminal) -> Iterator[str]:
    for source, skill in found:
        new = os.path.join(skill.name, SKILL_FILE)
        yield from paint_diff(
            unified_diff(skill.before.splitlines(), skill.text.splitlines(), source, new, lineterm=""), terminal
        )


def _advice(skill: ConvertedSkill) -> tuple[Problem, ...]:
    (report,) = lint([(skill.name, MemoryFiles({SKILL_FILE: skill.text.encode()}))])
    return tuple(report)


def _result(app: App, found: list[tuple[str, ConvertedSkill]], folders: list[str], *, written: bool, shown: bool) -> Result:
    advice = {skill.name: _advice(skill) for _, skill in found}
    rows = [
        {
            "name": skill.name, "source": source, "folder": folder, "text": skill.text, "notes": list(skill.notes),
            "advice": [{"code": one.code, "where": one.where, "message": one.message} for one in advice[skill.name]],
        }
        for (source, skill), folder in zip(found, folders, strict=True)
    ]  # fmt: skip

    def lines(terminal: Terminal) -> Iterator[str]:
        if not written and not shown:
            yield from _preview(found, terminal)
        for (source, skill), folder in zip(found, folders, strict=True):
            verb = "Wrote" if written else "Would write"
            yield one_line(f"{verb} {shorten(folder, app.paths.user_home)} from {source}")
            for problem in advice[skill.name]:
                yield one_line(f"  {problem.where}: {problem.severity} {problem.code}: {problem.message}")
        if not written:
            yield terminal.paint("Nothing was written" + ("" if shown else "; add --yes to write"), "dim")

    notes = tuple(one_line(note) for _, skill in found for note in skill.notes)
    return Result(data={"written": written, "skills": rows}, lines=lines, notes=notes)
