"""One script of one skill, from the wish to the outcome: is it there, may it run, is there anything left of the
budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.runtime import events
from metier.runtime.async_bridge import in_thread
from metier.runtime.policy.patterns import ToolRequest
from metier.runtime.policy.permissions import NETWORK, script_tool_request
from metier.runtime.script_run import Outcome, ScriptRun
from metier.runtime.tool_errors import BadArgumentsError, OverBudgetError
from metier.runtime.usage import Usage
from metier.spec import resource_path
from metier.values import dataclass, replace

from .script import script_paths

if TYPE_CHECKING:
    from metier.runtime.session import Session

__all__ = ["ScriptRequest", "run_script"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRequest:
    """A wish to run a script. Limits are the session's: whoever asks cannot raise them."""

    skill: str
    script: str
    """scripts/chart.py, or only chart.py."""
    arguments: tuple[str, ...] = ()
    stdin: str | bytes | None = None
    network: bool = False
    outputs: tuple[str, ...] = ()
    """Files that it writes into its scratch folder and that should come back."""
    seconds: float | None = None
    """Less than the session's limit, never more."""


async def run_script(session: Session, wish: ScriptRequest) -> Outcome:
    if session.services.runner is None:
        raise UnavailableError("this session cannot run scripts", hint="give its Host a runner", retryable=False)
    run = await in_thread(_checked, session, wish)
    session.mark_used(wish.skill)
    session.emit(
        events.ScriptStarted(
            session=session.id,
            timestamp=session.services.clock(),
            name=wish.skill,
            script=run.script,
            network=run.network,
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
        session.emit(_finished(session, wish.skill, run.script, outcome, error))
    return outcome


def _checked(session: Session, wish: ScriptRequest) -> ScriptRun:
    skill = session.skills.skill(wish.skill)
    script = _script(wish.script, script_paths(skill, skill.resources()))
    asker = session.skills.requester(skill)
    requests = [script_tool_request(skill.name, script, wish.arguments)]
    requests += [ToolRequest(tool=NETWORK)] if wish.network else []
    for request in requests:
        try:
            session.services.permissions.authorise(request, asker)
        except RefusedError as refused:
            session.emit(
                events.ActionRefused(
                    session=session.id,
                    timestamp=session.services.clock(),
                    name=skill.name,
                    what=str(request),
                    rule=refused.rule,
                )
            )
            raise
    options = session.options
    seconds = min(options.limits.seconds, wish.seconds or options.limits.seconds, _seconds_left(session, skill.name))
    return ScriptRun(
        folder=session.skills.folder(skill.name),
        script=script,
        arguments=wish.arguments,
        network=wish.network,
        outputs=wish.outputs,
        stdin=wish.stdin.encode("utf-8", "surrogatepass") if isinstance(wish.stdin, str) else wish.stdin,
        environment=dict(options.environment),
        limits=replace(options.limits, seconds=seconds),
    )


def _script(name: str, known: Sequence[str]) -> str:
    """The script of that name. Only what lies under scripts/ can be run, whatever else the skill holds."""
    path = resource_path(name)
    for candidate in (path, f"scripts/{path}"):
        if candidate in known:
            return candidate
    stems = [each for each in known if each.rpartition("/")[2].partition(".")[0] == path]
    if len(stems) == 1:
        return stems[0]
    raise BadArgumentsError(
        f"the skill has no script {name!r}", hint=f"it has {', '.join(known)}" if known else "it has no scripts at all"
    )


def _seconds_left(session: Session, skill: str) -> float:
    """What the budgets leave for this run; OverBudget when that is nothing."""
    budgets = session.options.budgets
    if not budgets.has_limits:
        return float("inf")
    used = session.usage
    spent = {"session": sum(used.values(), Usage()).seconds, "skill": used.get(skill, Usage()).seconds}
    limits = {"session": budgets.session.seconds, "skill": budgets.skill.seconds}
    left = [limit - spent[whose] for whose, limit in limits.items() if limit is not None]
    if left and min(left) <= 0:
        raise OverBudgetError(
            "the scripts of this session have used up their time", hint="go on without running scripts, or ask the user"
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
    )
