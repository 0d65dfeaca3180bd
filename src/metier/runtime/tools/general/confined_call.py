"""One call of a general tool: the permission for it, its run in the sandbox, and its event."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.runtime import events
from metier.runtime.async_bridge import in_thread
from metier.runtime.policy.patterns import ToolRequest
from metier.runtime.policy.permissions import Permissions, PolicyDecision, PolicyVerdict, Requester
from metier.runtime.script_run import Outcome, ScriptRun
from metier.runtime.scripts.packages import PackageMount, find_prepared
from metier.runtime.scripts.run_grants import RunGrants, authorise_host, find_grants
from metier.runtime.scripts.run_script import seconds_left
from metier.runtime.skill_access import origin_of
from metier.runtime.tool_errors import BadArgumentsError
from metier.spec import PackageEcosystem, Skill
from metier.values import dataclass, replace

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = [
    "Permit",
    "authorise",
    "emit_taken",
    "find_call_grants",
    "find_call_packages",
    "is_offered",
    "plan_run",
    "run_confined",
    "workspace_path",
    "workspace_permissions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """A call that may go ahead."""

    skill: str = ""
    rule: str = ""


def is_offered(session: Session, tool: str) -> bool:
    """Returns False for a tool that the policy forbids with any argument: models call what they see."""
    decision = session.services.permissions.decide(ToolRequest(tool=tool, is_confined=True), None)
    return decision.verdict is not PolicyVerdict.DENY


def workspace_permissions(session: Session) -> Permissions:
    """The permissions of the session, with paths that start in the workspace."""
    permissions = session.services.permissions
    if session.workspace is not None:
        permissions = replace(permissions, context=replace(permissions.context, folder=session.workspace.folder))
    # Without a skill there is no version that an approval could be bound to: it holds for the session.
    return permissions if session.active else replace(permissions, approvals=session.commands.approvals)


async def authorise(session: Session, request: ToolRequest, *, script: ToolRequest | None = None) -> Permit:
    """Returns the permit, or raises RefusedError. `script` is the same call as a run of a skill's own script."""
    return await in_thread(_authorise, session, request, script)


def _authorise(session: Session, request: ToolRequest, script: ToolRequest | None) -> Permit:
    permissions = workspace_permissions(session)
    skills = [session.skills.requester(skill) for skill in recent_skills(session)]
    try:
        granted = _as_script(permissions, script, skills) if script and not permissions.denies(request) else None
        decision = granted or (skills[-1].name if skills else "", permissions.authorise_any(request, skills))
    except RefusedError as refused:
        session.emit(
            events.ActionRefused(
                session=session.id, timestamp=session.services.clock(), name=skills[-1].name if skills else "",
                what=str(request), rule=refused.rule, reason=f"{refused}; {refused.hint}",
            )
        )  # fmt: skip
        raise
    return Permit(skill=decision[0], rule=decision[1].rule)


def _as_script(permissions: Permissions, script: ToolRequest, skills: Sequence[Requester]) -> tuple[str, PolicyDecision] | None:
    """A skill's own script is allowed by `policy.scripts`, also if a command line starts it."""
    for skill in skills:
        decision = permissions.decide(script, skill)
        if decision.verdict is PolicyVerdict.ALLOW:
            return skill.name, decision
    return None


def recent_skills(session: Session) -> list[Skill]:
    """The active skills, the one that was used last at the end. Deleted and broken ones are left out."""
    found = []
    for row in session.active:
        try:
            found.append(session.skills.skill(row.name))
        except (MetierError, OSError):
            continue
    return found


def find_call_grants(session: Session, hosts: tuple[str, ...], text: str) -> RunGrants:
    """Returns the hosts that the user grants to a call, and with them the secrets of the skill that was used last.

    Raises RefusedError if a host is not granted. A call that names no host gets nothing.
    """
    grants = RunGrants()
    if not hosts:
        return grants
    skills = recent_skills(session)
    if skills:
        requester = session.skills.requester(skills[-1])
        return find_grants(session, skills[-1], requester, hosts=hosts, secrets=(), words=(text,))
    for host in hosts:
        grants.add_host(authorise_host(session, host, Requester(name=""), words=(text,)))
    return grants


def find_call_packages(
    session: Session, text: str, kinds: Sequence[PackageEcosystem]
) -> tuple[PackageMount | None, tuple[str, ...]]:
    """Returns the prepared packages of the active skill that was used last and has some, and remarks about those of others."""
    provider, notes = session.services.packages, []
    if provider is None:
        return None, ()
    for skill in reversed(recent_skills(session)):
        try:
            found = find_prepared(
                skill, session.skills.folder(skill.name), text, provider=provider,
                permissions=session.services.permissions, requester=session.skills.requester(skill), kinds=kinds,
            )  # fmt: skip
        except MetierError as error:
            notes.append(f"the packages of {skill.name} are not used: {error}")
            continue
        if found is not None:
            return found, tuple(notes)
    return None, tuple(notes)


def plan_run(session: Session, run: ScriptRun, *, skill: str, seconds: float | None = None) -> ScriptRun:
    """Adds what all runs of the session share: the workspace, the folders of active skills, the environment, the limits."""
    options = session.options
    folders = [session.skills.folder(each.name) for each in recent_skills(session) if not origin_of(each)]
    most = seconds if seconds is not None else options.limits.seconds
    # A run with a skill's folder and no workspace would start in that folder, where nothing can be written.
    folder = folders.pop() if folders and session.workspace is not None else ""
    return replace(
        run,
        folder=folder,
        inputs=tuple(dict.fromkeys((*run.inputs, *folders))),
        workspace=session.workspace.mount(secrets=run.secrets) if session.workspace is not None else None,
        environment=dict(options.environment),
        limits=replace(options.limits, seconds=min(most, seconds_left(session, skill))),
    )


async def run_confined(session: Session, run: ScriptRun) -> Outcome:
    if session.services.runner is None:
        raise UnavailableError("this session cannot run anything", hint="set runner in SessionServices", retryable=False)
    return await session.services.runner.run(run)


def emit_taken(session: Session, permit: Permit, event: events.ActionTaken) -> None:
    session.emit(
        replace(event, session=session.id, timestamp=session.services.clock(), name=permit.skill, rule=permit.rule)
    )  # fmt: skip


def workspace_path(session: Session, given: str) -> str:
    """Returns a path inside the workspace, relative to it. Skills' own files are read with read_skill_resource."""
    assert session.workspace is not None, "the file tools are offered only with a workspace"  # noqa: S101
    folder = session.workspace.folder
    if "\0" in given:
        raise BadArgumentsError("a path cannot contain a NUL character", hint="give a path inside the workspace")
    path = posixpath.normpath(posixpath.join(folder, given))
    real = os.path.realpath(folder)
    for base in (folder, real):
        if path == base:
            return ""
        if path.startswith(f"{base}/"):
            return path[len(base) + 1 :]
    raise BadArgumentsError(
        f"{given!r} is outside the workspace", hint="give a path inside it; files of a skill: read_skill_resource, or a command"
    )
