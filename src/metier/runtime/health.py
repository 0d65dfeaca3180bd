"""Is this machine ready to run skills? Found out by doing, for `metier doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Protocol

from metier.errors import MetierError
from metier.values import dataclass

from .policy.approvals import FileApprovals
from .sandbox.isolation import Isolation, IsolationLevel
from .store import SqliteSessionStore

__all__ = ["HealthCheck", "check_health"]


@dataclass(frozen=True, slots=True)
class HealthCheck:
    name: str
    level: str
    """ok, warning or error."""
    text: str
    hint: str = ""


class Found(Protocol):
    """What a runner found out about one level."""

    @property
    def isolation(self) -> Isolation: ...

    @property
    def works(self) -> bool: ...

    @property
    def why(self) -> str: ...

    @property
    def fix(self) -> str: ...


class Probed(Protocol):
    def findings(self) -> Sequence[Found]: ...

    def best(self) -> Isolation | None: ...


def check_health(
    *, store: SqliteSessionStore, approvals: FileApprovals, runner: Probed, require: IsolationLevel
) -> Iterator[HealthCheck]:
    """One line each: sandbox, sessions, approvals, telemetry. `require` is what the user asks of the sandbox."""
    yield _sandbox(runner, require)
    try:
        sessions = len(store.sessions())
        aside = f"; a damaged file was set aside as {store.damaged_copy}" if store.damaged_copy else ""
        yield HealthCheck("sessions", "warning" if aside else "ok", f"{sessions:,} kept in {store.file}{aside}")
    except MetierError as error:
        yield HealthCheck("sessions", "error", str(error), error.hint)
    try:
        kept = len(approvals.all)
        yield HealthCheck("approvals", "ok", f"{kept:,} kept; `metier policy show` lists them" if kept else "none yet")
    except MetierError as error:
        yield HealthCheck("approvals", "error", str(error), error.hint)
    there = find_spec("opentelemetry") is not None
    yield HealthCheck("telemetry", "ok", "OpenTelemetry is installed" if there else "not installed; metier[otel] brings it")


def _sandbox(runner: Probed, require: IsolationLevel) -> HealthCheck:
    best = runner.best()
    if best is not None and best.level.strength >= require.strength:
        missing = f"; without: {', '.join(best.missing)}" if best.missing else ""
        return HealthCheck("sandbox", "ok", f"scripts run at level {best.level}{missing}")
    wanted = [found for found in runner.findings() if not found.works and found.isolation.level.strength >= require.strength]
    reasons = "; ".join(f"{found.isolation.level}: {found.why}" for found in wanted if found.why)
    fix = next((found.fix for found in wanted if found.fix), "")
    have = f"only level {best.level}" if best is not None else "no sandbox"
    return HealthCheck("sandbox", "error", f"{have} here, and {require} is required, so scripts are refused ({reasons})", fix)
