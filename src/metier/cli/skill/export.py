"""`metier skill export`: skills in the formats of other programs, and the lock in the formats of other installers."""

from __future__ import annotations

from click import Choice, argument, option

from metier.app import App
from metier.cli.completion import skill_names
from metier.cli.core.dispatch import command
from metier.cli.core.result import Result
from metier.cli.core.skill_argument import folders_named
from metier.cli.core.terminal import one_line, plural, shorten
from metier.errors import UsageError
from metier.install import ExportFormat, ExportResult, export_folders

__all__ = ["export"]

_NEXT = {
    ExportFormat.CLAUDE_PLUGIN: "load it with `claude --plugin-dir {path}`",
    ExportFormat.CLAUDE_AI: "upload it in claude.ai, Settings, Capabilities, Skills",
    ExportFormat.WELL_KNOWN: "serve the folder above .well-known; clients install from its address",
    ExportFormat.AGENT_PLUGIN: "install it in an agent that reads Agent Plugins, or with `metier skill install {path}`",
    ExportFormat.ZIP: "install it with `metier skill install {path}`",
}


@command("skill", "export")
@argument("targets", nargs=-1, metavar="[NAME|PATH]...", shell_complete=skill_names)
@option("--as", "to", type=Choice([each.value for each in ExportFormat]), required=True, help="The format.")
@option("-o", "--output", metavar="PATH", default="", help="The file or folder to write.  [default: named after the skill]")
@option("--name", default="", help="The name of a plugin or archive with several skills.")
def export(app: App, *, targets: tuple[str, ...], to: str, output: str, name: str) -> Result:
    """Export skills in the format of another program.

    \b
    zip            an archive; `metier skill install` and other installers read it
    agent-plugin   a folder with plugin.json, after the Agent Plugins standard
    claude-plugin  a folder with .claude-plugin/plugin.json, for Claude Code
    well-known     .well-known/agent-skills, to be served by any web server
    claude-ai      a zip for the upload page of claude.ai, one for each skill
    agents-md      a section for AGENTS.md, with the instructions in it

    The same skill gives the same bytes. Files that git ignores or `.metierignore` lists are left out, and a skill with a
    secret is refused, as by `metier skill publish`. A skill that breaks a rule of the target is refused too.
    """
    if not targets:
        raise UsageError("no skill is named", hint="name one: metier skill export NAME --as zip; `metier skill list` shows all")
    folders = tuple(folders_named(app, targets))
    path = output or "."
    done = export_folders(folders, ExportFormat(to), name=name, path=output, base=app.folder, inside=app.paths.inside(path))
    return _result(app, done)


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
