"""The workspace of a command: which folder scripts may work in, and what becomes of their changes when the run ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from metier.app import App
from metier.errors import UsageError
from metier.runtime import FileChange, PolicyVerdict, Requester, Session, Workspace, workspace_write_request
from metier.values import dataclass, field

from .questions import Choice, ask_many, ask_one, ask_yes_no, can_ask, forget_typed_ahead
from .terminal import Terminal, one_line, pad, paint_diff, plural

__all__ = [
    "WorkspaceOptions",
    "WorkspaceReport",
    "change_lines",
    "change_row",
    "finish_workspace",
    "open_workspace",
    "workspace_options",
]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--workspace", metavar="DIR", help="Folder that scripts work in; by default the current one, if you agree."),
    click.option("--no-workspace", is_flag=True, help="Scripts see only their skill."),
    click.option("--no-write", is_flag=True, help="Scripts can read the workspace and change nothing."),
    click.option("-y", "--yes", is_flag=True, help="Apply all changes of scripts to the workspace without asking."),
)  # fmt: skip


def workspace_options(function: F) -> F:
    """Adds the options; their values arrive as `workspace`, `no_workspace`, `no_write` and `yes`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceOptions:
    workspace: str | None = None
    no_workspace: bool = False
    no_write: bool = False
    yes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceReport:
    """The end of a run: data for programs, remarks for people."""

    data: Mapping[str, Any] | None = None  # Any: JSON
    notes: tuple[str, ...] = ()
    info: str = ""
    lines: tuple[str, ...] = field(default_factory=tuple)


def open_workspace(app: App, options: WorkspaceOptions, *, ask: bool = True) -> tuple[Workspace | None, str]:
    """Returns the workspace, or None, with a remark for the user if there is none and they may have expected one."""
    if options.workspace is not None and options.no_workspace:
        raise UsageError("--workspace and --no-workspace exclude each other", hint="use one of them")
    if options.yes and options.no_write:
        raise UsageError("--yes and --no-write exclude each other", hint="use one of them")
    if options.no_workspace:
        return None, ""
    workspaces = app.workspaces
    write = not options.no_write and workspaces.write_policy is not PolicyVerdict.DENY
    if options.workspace is not None:
        if not options.workspace:
            raise UsageError("--workspace needs a folder", hint="`--workspace .` is the current one")
        return workspaces.open(workspaces.check(options.workspace), write=write), ""
    if workspaces.read_policy is PolicyVerdict.DENY or workspaces.is_too_wide(app.folder):
        return None, ""
    allowed = workspaces.answers.get(workspaces.check("."))
    if workspaces.read_policy is PolicyVerdict.ALLOW:
        allowed = True
    if allowed is None and ask and can_ask():
        question = (
            f"May scripts of skills work in {one_line(app.folder)}? They see no secrets, and every change is shown first."
        )
        allowed = ask_yes_no(question, default=True)
        workspaces.remember(app.folder, allowed=allowed)
    if allowed:
        return workspaces.open(workspaces.check("."), write=write), ""
    return (
        None,
        "No workspace: scripts see only their skill; --workspace . lets them work in this folder" if allowed is None else "",
    )


def finish_workspace(
    app: App, workspace: Workspace, session: Session | None, skills: Sequence[str], *, yes: bool, ask: bool = True
) -> WorkspaceReport:
    """Applies the changes, as far as policy, approvals and the user allow; else keeps them for `metier workspace apply`."""
    changes = workspace.changes()
    possible = [change for change in changes if not change.problem]
    notes = _problem_notes(changes)
    notes = (*notes, *(one_line(f"{one.path} holds the secret {', '.join(one.secrets)}") for one in changes if one.secrets))
    if changes and workspace.is_in_use:
        notes = (*notes, "a command is still running in the workspace; a file that it writes may be incomplete")
    rows = [change_row(workspace, change) for change in changes]
    data: dict[str, Any] = {"folder": workspace.folder, "changes": rows, "applied": [], "refused": [], "kept": None}
    if not possible:
        if changes:
            _discard(workspace)
        return WorkspaceReport(data=data, notes=notes)
    verdict = _verdict(session, skills) if not yes else PolicyVerdict.ALLOW
    if verdict is PolicyVerdict.DENY:
        _discard(workspace)
        return WorkspaceReport(data=data, notes=(*notes, "the policy forbids changes to the workspace; nothing was applied"))
    if verdict is PolicyVerdict.ASK and not (ask and can_ask()):
        return _keep(workspace, skills, data, notes)
    chosen = possible if verdict is PolicyVerdict.ALLOW else _ask_for_changes(app, workspace, session, skills, possible)
    result = workspace.apply(chosen) if chosen else None
    applied = result.applied if result else ()
    data["applied"] = [change.path for change in applied]
    data["refused"] = [{"path": change.path, "reason": reason} for change, reason in result.refused] if result else []
    notes = (*notes, *(one_line(f"{row['path']} not applied: {row['reason']}") for row in data["refused"]))
    if data["refused"]:
        report = _keep(workspace, skills, data, notes)
        return WorkspaceReport(data=report.data, notes=report.notes, info=_applied(workspace, applied))
    _discard(workspace)
    return WorkspaceReport(data=data, notes=notes, info=_applied(workspace, applied) if applied else "Nothing applied")


def _discard(workspace: Workspace) -> None:
    """Forgets what was not taken. A command that still runs keeps its files, and they are listed again after the next turn."""
    if not workspace.is_in_use:
        workspace.discard()


def change_lines(workspace: Workspace, changes: Iterable[FileChange]) -> Iterator[str]:
    """One line for each change: kind, path, size and the dimensions of a picture."""
    found = list(changes)
    widest = min(60, max((len(one_line(change.path)) for change in found), default=0) + 1)
    for change in found:
        name = one_line(change.path) + ("/" if change.is_folder else "")
        yield f"  {change.kind:<8} {pad(name, widest)}  {_details(workspace, change)}".rstrip()


def change_row(workspace: Workspace, change: FileChange) -> dict[str, Any]:
    size = workspace.picture_size(change)
    return {
        "path": change.path, "kind": change.kind.value, "folder": change.is_folder, "old_size": change.old_size,
        "new_size": change.new_size, "executable": bool((change.new_mode or 0) & 0o100) and not change.is_folder,
        "link": change.link, "picture": list(size) if size else None, "problem": change.problem,
        "secrets": list(change.secrets),
    }  # fmt: skip


def _details(workspace: Workspace, change: FileChange) -> str:
    parts = []
    if change.link:
        parts.append(f"link to {one_line(change.link)}")
    if change.old_size is not None and change.new_size is not None:
        parts.append(f"{_size(change.old_size)} -> {_size(change.new_size)}")
    elif change.new_size is not None or change.old_size is not None:
        parts.append(_size(change.new_size if change.new_size is not None else change.old_size or 0))
    if picture := workspace.picture_size(change):
        parts.append(f"{picture[0]} x {picture[1]}")
    if change.changes_mode or (change.kind == "created" and not change.is_folder and (change.new_mode or 0) & 0o100):
        parts.append("executable" if (change.new_mode or 0) & 0o100 else "not executable")
    if change.secrets:
        parts.append(f"holds the secret {', '.join(change.secrets)}")
    if change.problem:
        parts.append(f"not applied: {one_line(change.problem)}")
    return ", ".join(parts)


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    for unit in ("kB", "MB"):
        size_in_unit = size / 1000
        if size_in_unit < 1000 or unit == "MB":
            return f"{size_in_unit:.1f} {unit}"
        size //= 1000
    return f"{size} B"


def _verdict(session: Session | None, skills: Sequence[str]) -> PolicyVerdict:
    """Returns allow only if policy or approvals allow it to each of the skills that ran."""
    if session is None:
        return PolicyVerdict.ASK
    permissions, request = session.services.permissions, workspace_write_request()
    requesters: list[Requester | None] = [session.skills.requester(session.skills.skill(name)) for name in skills]
    verdicts = {permissions.decide(request, one).verdict for one in requesters or [None]}
    order = (PolicyVerdict.DENY, PolicyVerdict.ASK, PolicyVerdict.ALLOW)
    return next(verdict for verdict in order if verdict in verdicts)


def _keep(workspace: Workspace, skills: Sequence[str], data: dict[str, Any], notes: Sequence[str]) -> WorkspaceReport:
    if not workspace.keep(skills):
        return WorkspaceReport(data=data, notes=(*notes, "the changes are lost, because METIER_HOME cannot be written"))
    id = workspace.layer.rpartition("/")[2]  # noqa: A001
    data["kept"] = id
    count = plural(sum(not row["problem"] for row in data["changes"]) - len(data["applied"]), "change")
    hint = f"{count} not applied; see `metier workspace show {id}`, apply with `metier workspace apply {id}`"
    return WorkspaceReport(data=data, notes=(*notes, hint))


def _applied(workspace: Workspace, applied: Sequence[FileChange]) -> str:
    return one_line(f"Applied {plural(len(applied), 'change')} to {workspace.folder}")


def _problem_notes(changes: Iterable[FileChange]) -> tuple[str, ...]:
    reasons: dict[str, list[str]] = {}
    for change in changes:
        if change.problem:
            reasons.setdefault(change.problem, []).append(one_line(change.path))
    return tuple(
        f"{paths[0] if len(paths) == 1 else f'{paths[0]} and {len(paths) - 1} more'} not applied: {one_line(reason)}"
        for reason, paths in reasons.items()
    )


def _ask_for_changes(
    app: App, workspace: Workspace, session: Session | None, skills: Sequence[str], changes: Sequence[FileChange]
) -> Sequence[FileChange]:
    """Shows the changes and returns those that the user takes."""
    terminal = Terminal.of(sys.stderr)
    _say(f"{plural(len(changes), 'change')} to {one_line(workspace.folder)}:", *change_lines(workspace, changes))
    choices = [Choice(value="all", title="Apply all"), Choice(value="some", title="Choose")]
    choices += [Choice(value="diff", title="Show differences")]
    choices += [Choice(value="always", title=f"Apply all, always for {', '.join(skills)}")] if session and skills else []
    choices += [Choice(value="nothing", title="Apply nothing")]
    forget_typed_ahead()
    while (answer := ask_one("Apply these changes?", choices)) == "diff":
        for change in changes:
            _say(*paint_diff(workspace.diff(change).splitlines(), terminal))
    if answer == "always" and session is not None:
        for name in skills:
            digest = session.skills.requester(session.skills.skill(name)).digest()
            if digest:
                app.sessions.approvals.add(name, digest, "Workspace(write)")
    if answer == "some":
        titles = zip(changes, change_lines(workspace, changes), strict=True)
        taken = set(ask_many("Which?", [Choice(value=f"{one.kind} {one.path}", title=line.strip()) for one, line in titles]))
        return [change for change in changes if f"{change.kind} {change.path}" in taken]
    return changes if answer in ("all", "always") else ()


def _say(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
