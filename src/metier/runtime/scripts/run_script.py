"""Runs one script of a skill in a session: finds it, checks permissions and budget, runs it, and emits events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metier.errors import MetierError, UnavailableError
from metier.runtime import events
from metier.runtime.async_bridge import in_thread
from metier.runtime.network.connections import ConnectionDecision, hosts_of
from metier.runtime.policy.permissions import script_tool_request
from metier.runtime.script_run import Outcome, ScriptRun
from metier.runtime.tool_errors import BadArgumentsError, OverBudgetError
from metier.runtime.usage import Usage
from metier.spec import resource_path
from metier.values import dataclass, replace

from .packages import mount_packages
from .run_grants import authorise, find_grants
from .script import script_paths

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["ScriptRequest", "run_script", "seconds_left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRequest:
    """A request to run a script. The limits are those of the session; a request cannot raise them."""

    skill: str
    script: str
    """scripts/chart.py, or only chart.py."""
    arguments: tuple[str, ...] = ()
    stdin: str | bytes | None = None
    hosts: tuple[str, ...] = ()
    """Hosts that it must be able to reach, besides those that the skill declares."""
    secrets: tuple[str, ...] = ()
    """Names of stored secrets that it must get, besides those that the skill needs."""
    outputs: tuple[str, ...] = ()
    """Files of its scratch folder to return."""
    seconds: float | None = None
    """A shorter timeout than that of the session."""


async def run_script(session: Session, request: ScriptRequest) -> Outcome:
    if session.services.runner is None:
        raise UnavailableError("this session cannot run scripts", hint="set runner in SessionServices", retryable=False)
    run, notes = await in_thread(_plan, session, request)
    session.mark_used(request.skill)
    session.emit(
        events.ScriptStarted(
            session=session.id,
            timestamp=session.services.clock(),
            name=request.skill,
            script=run.script,
            hosts=run.hosts,
            arguments=run.arguments,
        )
    )
    error = "cancelled"
    outcome: Outcome | None = None
    try:
        outcome = await session.services.runner.run(run)
        error = ""
    except MetierError as failed:
        error = failed.code
        raise
    finally:
        session.emit(_finished(session, request.skill, run.script, outcome, error))
    return replace(outcome, notes=(*outcome.notes, *notes))


def _plan(session: Session, request: ScriptRequest) -> tuple[ScriptRun, list[str]]:
    skill = session.skills.skill(request.skill)
    script = _find_script(request.script, script_paths(skill, skill.resources()))
    requester = session.skills.requester(skill)
    wanted = script_tool_request(skill.name, script, request.arguments)
    authorise(session, wanted, requester)
    grants = find_grants(session, skill, requester, hosts=request.hosts, secrets=request.secrets, words=wanted.words)
    folder = session.skills.folder(skill.name)
    packages = mount_packages(
        skill, script, folder, provider=session.services.packages, permissions=session.services.permissions,
        requester=requester,
    )  # fmt: skip
    options = session.options
    seconds = min(options.limits.seconds, request.seconds or options.limits.seconds, seconds_left(session, skill.name))
    run = ScriptRun(
        folder=folder,
        script=script,
        packages=packages,
        arguments=request.arguments,
        hosts=tuple(grants.hosts),
        secrets=grants.secrets,
        masked=tuple(grants.masked),
        outputs=request.outputs,
        stdin=request.stdin.encode("utf-8", "surrogatepass") if isinstance(request.stdin, str) else request.stdin,
        environment=dict(options.environment),
        workspace=session.workspace.mount(secrets=grants.secrets) if session.workspace is not None else None,
        limits=replace(options.limits, seconds=seconds),
    )
    return run, grants.notes


def _find_script(name: str, known: Sequence[str]) -> str:
    """Returns the path of the script. Only files below scripts/ can be run."""
    path = resource_path(name)
    for candidate in (path, f"scripts/{path}"):
        if candidate in known:
            return candidate
    stems = [each for each in known if each.rpartition("/")[2].partition(".")[0] == path]
    if len(stems) == 1:
        return stems[0]
    raise BadArgumentsError(
        f"the skill has no script {name!r}", hint=f"it has {', '.join(known)}" if known else "it has no scripts"
    )


def seconds_left(session: Session, skill: str) -> float:
    """Returns the seconds that the budgets leave for this run. Raises OverBudgetError if there are none."""
    budgets = session.options.budgets
    if not budgets.has_limits:
        return float("inf")
    used = session.usage
    spent = {"session": sum(used.values(), Usage()).seconds, "skill": used.get(skill, Usage()).seconds}
    limits = {"session": budgets.session.seconds, "skill": budgets.skill.seconds}
    left = [limit - spent[owner] for owner, limit in limits.items() if limit is not None]
    if left and min(left) <= 0:
        raise OverBudgetError(
            "the time budget for scripts is used up", hint="continue without scripts, or ask the user to raise the budget"
        )
    return min(left, default=float("inf"))


def _finished(session: Session, skill: str, script: str, outcome: Outcome | None, error: str) -> events.ScriptFinished:
    now = session.services.clock()
    if outcome is None:
        return events.ScriptFinished(session=session.id, timestamp=now, name=skill, script=script, error=error)
    return events.ScriptFinished(
        session=session.id,
        timestamp=now,
        name=skill,
        script=script,
        exit_code=outcome.exit_code,
        duration=outcome.duration,
        timed_out=outcome.timed_out,
        level=outcome.isolation.level,
        contacted=hosts_of(outcome.connections, ConnectionDecision.ALLOWED),
        denied=hosts_of(outcome.connections, ConnectionDecision.REFUSED),
    )
