"""Checks for `metier doctor`: whether this machine can run skills, found by probing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from metier.errors import MetierError, plural
from metier.values import dataclass

from .policy.approvals import StoredApprovals
from .sandbox.isolation import Isolation, IsolationLevel
from .store import SqlSessionStore

if TYPE_CHECKING:
    from .sandbox.probe import ProbeResult

__all__ = ["HealthCheck", "check_health"]


@dataclass(frozen=True, slots=True)
class HealthCheck:
    name: str
    level: str
    """ok, warning or error."""
    text: str
    hint: str = ""


class ProbingRunner(Protocol):
    """The part of `Runner` that is checked."""

    def probe_results(self) -> Sequence[ProbeResult]: ...

    def best(self) -> Isolation | None: ...


def check_health(
    *, store: SqlSessionStore, approvals: StoredApprovals, runner: ProbingRunner, require: IsolationLevel
) -> Iterator[HealthCheck]:
    """Yields one check each for sandbox, sessions, approvals and telemetry. `require` is the configured isolation level."""
    yield _check_sandbox(runner, require)
    try:
        sessions = len(store.sessions())
        damaged = f"; a damaged file was renamed to {store.damaged_copy}" if store.damaged_copy else ""
        yield HealthCheck(
            "sessions", "warning" if damaged else "ok", f"{plural(sessions, 'session')} in {store.location}{damaged}"
        )
    except MetierError as error:
        yield HealthCheck("sessions", "error", str(error), error.hint)
    try:
        count = len(approvals.all)
        listed = f"{plural(count, 'approval')}; see `metier policy show`" if count else "none"
        yield HealthCheck("approvals", "ok", listed)
    except MetierError as error:
        yield HealthCheck("approvals", "error", str(error), error.hint)
    is_installed = find_spec("opentelemetry") is not None
    yield HealthCheck("telemetry", "ok", "OpenTelemetry is installed" if is_installed else "not installed (extra metier[otel])")


def _check_sandbox(runner: ProbingRunner, require: IsolationLevel) -> HealthCheck:
    best = runner.best()
    if best is not None and best.level.strength >= require.strength:
        missing = f"; without: {', '.join(best.missing)}" if best.missing else ""
        where = f"in containers of {best.engine}, " if best.engine else ""
        return HealthCheck("sandbox", "ok", f"scripts run {where}at level {best.level}{missing}")
    failed = [one for one in runner.probe_results() if not one.works and one.isolation.level.strength >= require.strength]
    has_engine = any(one.isolation.engine for one in failed)
    reasons = [one.reason if has_engine else f"{one.isolation.level}: {one.reason}" for one in failed if one.reason]
    fix = next((one.fix for one in failed if one.fix), "")
    available = f"only level {best.level} is available" if best is not None else "no sandbox is available"
    text = f"{available}, and {require} is required" if not has_engine else "no container engine works"
    return HealthCheck("sandbox", "error", f"{text}: scripts are refused ({'; '.join(dict.fromkeys(reasons))})", fix)
