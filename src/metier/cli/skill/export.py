"""`metier skill export`: skills in the formats of other programs, and the lock in the formats of other installers."""

from __future__ import annotations

import os

from click import Choice, argument, option

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import one_line, plural, shorten
from metier.errors import ConflictError, NotFoundError, UsageError
from metier.install import (
    ExportFormat,
    ExportResult,
    ForeignLockFormat,
    export_folders,
    read_folder,
    render_foreign_lock,
)
from metier.sources import replace_text

from .install_common import chosen_scope, scope_options

__all__ = ["export"]

_NEXT = {
    ExportFormat.CLAUDE_PLUGIN: "load it with `claude --plugin-dir {path}`",
    ExportFormat.CLAUDE_AI: "upload it in claude.ai, Settings, Capabilities, Skills",
    ExportFormat.WELL_KNOWN: "serve the folder above .well-known; clients install from its address",
    ExportFormat.AGENT_PLUGIN: "install it in an agent that reads Agent Plugins, or with `metier skill install {path}`",
    ExportFormat.ZIP: "install it with `metier skill install {path}`",
}


_FORMATS = [each.value for each in (*ExportFormat, *ForeignLockFormat)]


@command("skill", "export")
@argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skill_names)
@option("--as", "to", type=Choice(_FORMATS), required=True, help="The format.")
@option("-o", "--output", metavar="PATH", default="", help="The file or folder to write.  [default: named after the skill]")
@option("--name", default="", help="The name of a plugin or archive with several skills.")
@scope_options
def export(app: App, *, targets: tuple[str, ...], to: str, output: str, name: str, project: bool, user: bool) -> Result:
    """Export skills in the format of another program.

    \b
    zip            an archive; `metier skill install` and other installers read it
    agent-plugin   a folder with plugin.json, after the Agent Plugins standard
    claude-plugin  a folder with .claude-plugin/plugin.json, for Claude Code
    well-known     .well-known/agent-skills, to be served by any web server
    claude-ai      a zip for the upload page of claude.ai, one for each skill
    agents-md      a section for AGENTS.md, with the instructions in it
    skills-lock    your lock as skills-lock.json, for npm's `skills`
    skill-lock     your lock as .skill-lock.json, for npm's `skills` and `gh skill`
    apm-lock       your lock as apm.lock.yaml

    The same skill gives the same bytes. Files that git ignores or `.metierignore` lists are left out, and a skill with a
    secret is refused, as by `metier skill publish`. A skill that breaks a rule of the target is refused too.
    """
    scope = chosen_scope(project=project, user=user)
    if to in [*ForeignLockFormat]:
        return _lock(app, ForeignLockFormat(to), targets, output, scope=scope)
    if scope is not None:
        raise UsageError("--project and --user are for locks", hint=f"leave them out with --as {to}")
    if not targets:
        raise UsageError("no skill is named", hint="name one: metier skill export NAME --as zip; `metier skill list` shows all")
    folders = tuple(folders_named(app, targets))
    path = output or "."
    done = export_folders(folders, ExportFormat(to), name=name, path=output, base=app.folder, inside=app.paths.inside(path))
    return _result(app, done)


def _lock(app: App, to: ForeignLockFormat, names: tuple[str, ...], output: str, *, scope: bool | None) -> Result:
    """Writes the lock of the project if there is one, else the user's, in another format."""
    (store, *_) = app.installation.stores(project=scope) or app.installation.stores(project=False)
    chosen = [store.lock()[name] for name in names] if names else list(store.lock())
    if not chosen:
        raise NotFoundError("no skills are installed", hint="see `metier skill install --help`")
    file = os.path.join(app.folder, output) if output else ""
    if file and os.path.lexists(file):
        raise ConflictError(f"{output!r} already exists", hint="name another path with -o, or delete it first")
    read = [(entry, read_folder(store.folder_of(entry))) for entry in chosen]
    text, notes = render_foreign_lock(read, to, base=os.path.dirname(file) or app.folder)
    notes = tuple(map(one_line, notes))
    data = {"format": to, "path": file, "skills": [entry.name for entry in chosen], "text": text}
    if not file:
        return Result(data=data, lines=lambda _: (), text=text, notes=notes)
    replace_text(file, text, inside=app.paths.inside(file))
    line = f"Exported the lock of {plural(len(chosen) - len(notes), 'skill')} to {one_line(output)}"
    return Result(data=data, lines=lambda _: (line,), notes=notes)


def _result(app: App, done: ExportResult) -> Result:
    data = {slot: getattr(done, slot) for slot in done.__slots__}
    notes = (*done.notes, *(f"{path} is left out, because an ignore file lists it" for path in done.left_out))
    if not done.path:
        return Result(data=data, lines=lambda _: (), text=done.text, notes=tuple(map(one_line, notes)))
    path = shorten(done.path, app.paths.user_home)
    what = done.skills[0] if len(done.skills) == 1 else plural(len(done.skills), "skill")
    lines = [f"Exported {what} to {path} ({plural(done.files, 'file')}, {plural(done.size, 'byte')})"]
    if hint := _NEXT.get(done.format):
        lines.append(f"Next: {hint.format(path=path)}")
    return Result(data=data, lines=lambda _: map(one_line, lines), notes=tuple(map(one_line, notes)))
