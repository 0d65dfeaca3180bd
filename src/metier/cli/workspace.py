"""`metier workspace`: changes of scripts to your folders that wait to be applied."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import click

from metier.app import App
from metier.errors import NotFoundError
from metier.runtime import FileChange, Workspace

from .completion import change_ids
from .core.dispatch import command
from .core.result import Result
from .core.terminal import Terminal, one_line, pad, paint_diff, plural
from .core.workspace import change_lines, change_row

__all__ = ["apply", "discard", "list_changes", "show"]


@command("workspace", "list")
def list_changes(app: App) -> Result:
    """List changes of earlier runs that wait to be applied, the newest first."""
    kept = app.workspaces.kept()
    rows = [{"id": one.id, "folder": one.folder, "skills": list(one.skills), "created": one.created} for one in kept]

    def lines(terminal: Terminal) -> Iterator[str]:
        if not kept:
            yield "No changes wait to be applied"
        for one in kept:
            when = f"{datetime.fromtimestamp(one.created):%Y-%m-%d %H:%M}"  # noqa: DTZ006  (the user's own time)
            yield f"{terminal.paint(pad(one.id, 8), 'bold')}  {when}  {one_line(one.folder)}  {one_line(', '.join(one.skills))}"

    return Result(data={"changes": rows}, lines=lines)


@command("workspace", "show")
@click.argument("id", metavar="[ID]", required=False, shell_complete=change_ids)
@click.option("--diff", "with_diff", is_flag=True, help="Show the differences of text files.")
def show(app: App, *, id: str | None, with_diff: bool) -> Result:  # noqa: A002
    """Show the changes of an earlier run. Without ID, of the latest one."""
    workspace = _open(app, id)
    try:
        changes = workspace.changes()
        rows = [change_row(workspace, change) for change in changes]
        texts = [workspace.diff(change) for change in changes] if with_diff else []
        shown = list(change_lines(workspace, changes))
    finally:
        workspace.close()

    def lines(terminal: Terminal) -> Iterator[str]:
        yield one_line(f"{plural(len(changes), 'change')} to {workspace.folder}")
        yield from shown
        for text in texts:
            yield from paint_diff(text.splitlines(), terminal)

    data = {"id": _id(workspace), "folder": workspace.folder, "changes": rows, "diffs": texts}
    return Result(data=data, lines=lines, pages=with_diff)


@command("workspace", "apply")
@click.argument("id", metavar="[ID]", required=False, shell_complete=change_ids)
@click.argument("paths", nargs=-1, metavar="[FILE]...")
def apply(app: App, *, id: str | None, paths: tuple[str, ...]) -> Result:  # noqa: A002
    """Apply the changes of an earlier run to its folder: all, or those of some files. Without ID, of the latest run.

    A file that was changed in the folder since the run started is left alone.
    """
    workspace = _open(app, id)
    try:
        chosen = _chosen(workspace, paths)
        result = workspace.apply(chosen)
    finally:
        workspace.close()
    refused = [{"path": change.path, "reason": reason} for change, reason in result.refused]
    data = {
        "id": _id(workspace),
        "folder": workspace.folder,
        "applied": [one.path for one in result.applied],
        "refused": refused,
    }
    line = one_line(f"Applied {plural(len(result.applied), 'change')} to {workspace.folder}")
    notes = tuple(one_line(f"{row['path']} not applied: {row['reason']}") for row in refused)
    return Result(data=data, lines=lambda _: (line,), notes=notes, status=1 if refused else 0)


@command("workspace", "discard")
@click.argument("id", metavar="[ID]", required=False, shell_complete=change_ids)
def discard(app: App, *, id: str | None) -> Result:  # noqa: A002
    """Forget the changes of an earlier run. Without ID, of the latest one."""
    workspace = _open(app, id)
    try:
        count = len(workspace.changes())
        workspace.discard()
    finally:
        workspace.close()
    line = one_line(f"Discarded {plural(count, 'change')} to {workspace.folder}")
    return Result(data={"id": _id(workspace), "discarded": count}, lines=lambda _: (line,))


def _open(app: App, id: str | None) -> Workspace:  # noqa: A002
    if id is None:
        kept = app.workspaces.kept()
        if not kept:
            raise NotFoundError("no changes wait to be applied", hint="run a script with --workspace first")
        id = kept[0].id  # noqa: A001
    return app.workspaces.reopen(id)


def _chosen(workspace: Workspace, paths: tuple[str, ...]) -> list[FileChange]:
    changes = [change for change in workspace.changes() if not change.problem]
    for path in paths:
        if not any(change.path == path for change in changes):
            raise NotFoundError(f"no change of {path!r}", hint=f"see `metier workspace show {_id(workspace)}`")
    return [change for change in changes if not paths or change.path in paths]


def _id(workspace: Workspace) -> str:
    return workspace.layer.rpartition("/")[2]
