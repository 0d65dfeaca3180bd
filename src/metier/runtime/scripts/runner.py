"""Scripts of skills, run confined.

`Runner.run` takes a Run and gives an Outcome, or raises before anything has started: Refused if the run must not be,
Unavailable if this machine cannot do it. It never runs something less confined than was required, and never says more
than was there.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping

from metier.errors import NotFoundError, RefusedError, UnavailableError
from metier.runtime.sandbox.isolation import Isolation, IsolationLevel, isolation_at
from metier.runtime.sandbox.plan import SandboxFeatures, plan_run
from metier.runtime.sandbox.probe import ProbeResult, detect_features, probe
from metier.runtime.sandbox.spawner_client import SupervisorReport, send_request
from metier.runtime.script_run import Limits, Outcome, OutputFile, ScriptRun
from metier.sources import DiskFiles
from metier.spec import resource_path
from metier.values import replace

from .interpreters import Interpreters

__all__ = ["Runner"]

_LARGEST_SCRIPT = 64 * 1024 * 1024
_CONFINED = (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.SEATBELT)
_FINDINGS: dict[tuple[SandboxFeatures, IsolationLevel], ProbeResult] = {}
"""What a level can do does not change while we run, and finding out takes 50 ms."""
_PROBING = threading.Lock()


class Runner:
    """Runs scripts at the best level there is. `level` fixes it; `limits` and `off` are used only when fixed."""

    def __init__(
        self,
        *,
        level: IsolationLevel | None = None,
        machine: SandboxFeatures | None = None,
        interpreters: Interpreters | None = None,
    ) -> None:
        self._level = level
        self._machine = machine or detect_features(zone=os.environ.get("TZ"))
        self._interpreters = interpreters or Interpreters()
        self._has_run = False
        """The first run asks interpreters where they live, which starts them; that must not hold up a loop."""

    def findings(self) -> tuple[ProbeResult, ...]:
        """Every level, strongest first, with the reason if it cannot be had: for `metier doctor`."""
        return tuple(self._finding(level) for level in IsolationLevel)

    def available(self) -> tuple[Isolation, ...]:
        """The levels that this machine has, strongest first, each proven by a canary."""
        return tuple(found.isolation for found in self.findings() if found.works)

    def best(self) -> Isolation | None:
        """The level that runs will have: the fixed one, else the strongest that confines. None: runs are refused."""
        wanted = (self._level,) if self._level else _CONFINED
        return next((found.isolation for found in map(self._finding, wanted) if found.works), None)

    async def run(self, run: ScriptRun) -> Outcome:
        """Cancelled, it raises CancelledError once the whole tree of processes is gone."""
        check_argument_limits(run)
        level = await self._required(run.limits)
        folder = os.path.realpath(run.folder)
        if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK) and self._has_run:
            # A few small reads: handing them to a thread would take longer than doing them.
            asked, before = self._prepare(run, folder, level)
        else:
            asked, before = await asyncio.to_thread(self._prepare, run, folder, level)
            self._has_run = True
        try:
            answer = await send_request(asked)
        except (EOFError, ConnectionError) as error:
            raise UnavailableError(f"the run was lost: {error}", hint="something ended its supervisor; try again") from None
        if "cannot_start" in answer:
            raise UnavailableError(f"the {level} sandbox did not start: {answer['cannot_start']}", hint="see `metier doctor`")
        if before is not None and before != await asyncio.to_thread(_state, folder):
            raise RefusedError("the skill's folder changed while its script ran", rule="skill-changed",
                          hint="install the skill again; it cannot be trusted as it is")  # fmt: skip
        found = isolation_at(level, network=run.network, abi=self._machine.abi, root=os.geteuid() == 0)
        return _outcome(answer, found)

    async def _required(self, limits: Limits) -> IsolationLevel:
        best = self._known() or await asyncio.to_thread(self.best)
        if best and best.level.strength >= limits.require.strength:
            return best.level
        found = [self._finding(level) for level in ((self._level,) if self._level else _CONFINED)]
        have = f"this machine has only {best.level}" if best else "this machine has no sandbox"
        reasons = "; ".join(f"{one.isolation.level}: {one.why}" for one in found if not one.works)
        raise RefusedError(
            f"a run needs at least {limits.require}, and {have}" + (f" ({reasons})" if reasons else ""),
            rule="sandbox",
            hint=next((one.fix for one in found if one.fix and one.isolation.level.strength >= limits.require.strength),
                      f"require {best.level} to run it all the same" if best else "see `metier doctor`"),
        )  # fmt: skip

    def _known(self) -> Isolation | None:
        """The best level if no probe is needed to say it."""
        for level in (self._level,) if self._level else _CONFINED:
            found = _FINDINGS.get((self._machine, level))
            if found is None or found.works:
                return found.isolation if found else None
        return None

    def _finding(self, level: IsolationLevel) -> ProbeResult:
        key = (self._machine, level)
        with _PROBING:
            if key not in _FINDINGS:
                _FINDINGS[key] = probe(self._machine, level)
            return _FINDINGS[key]

    def _prepare(self, run: ScriptRun, folder: str, level: IsolationLevel) -> tuple[Mapping[str, object], object]:
        path, data = _checked_script(run, folder)
        command = self._interpreters.command(path, data, network=run.network)
        outputs = tuple(resource_path(output) for output in run.outputs)
        inputs = tuple(map(_checked_input, run.inputs))
        run = replace(run, folder=folder, inputs=inputs, outputs=outputs)
        before = None if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK) else _state(folder)
        return plan_run(self._machine, level, run, path=path, data=data, command=command), before


def check_argument_limits(run: ScriptRun) -> None:
    """Refuse what is over the limits, before anything is started."""
    limits = run.limits
    if len(run.arguments) > limits.arguments:
        raise RefusedError(f"{len(run.arguments)} arguments are more than {limits.arguments}", rule="arguments",
                      hint="pass a list on standard input, or in a file")  # fmt: skip
    try:
        size = sum(len(argument.encode()) for argument in run.arguments)
    except UnicodeEncodeError:
        raise RefusedError("an argument is not text", rule="arguments", hint="pass it on standard input") from None
    if size > limits.argument_bytes:
        raise RefusedError(f"{size:,} bytes of arguments are more than {limits.argument_bytes:,}", rule="arguments",
                      hint="pass long text on standard input")  # fmt: skip
    if any("\0" in argument for argument in run.arguments):
        raise RefusedError("an argument holds a NUL character", rule="arguments", hint="pass it on standard input")


def _checked_script(run: ScriptRun, folder: str) -> tuple[str, bytes]:
    """The script's path inside the skill with no links in it, and its bytes: read once, and these are the ones that run."""
    path = resource_path(run.script)
    if not path.startswith("scripts/") and path not in run.named:
        raise RefusedError(f"{path!r} is not a script of the skill", rule="not-a-script", hint="scripts are below scripts/")
    data = DiskFiles(folder).read(path, limit=_LARGEST_SCRIPT)
    real = os.path.realpath(f"{folder}/{path}")
    if not real.startswith(f"{folder}/"):
        # It was inside when it was read, so somebody is changing it right now.
        raise RefusedError(
            f"{path!r} is a link out of the skill", rule="link-leaves-skill", hint="copy the file into the skill"
        )
    return real[len(folder) + 1 :], data


def _checked_input(path: str) -> str:
    """Never the whole system, nor anything that is another thing inside than outside."""
    clean = os.path.normpath(path)
    if not os.path.isabs(path) or "\0" in path or clean == "/" or clean.startswith(("/proc", "/sys", "/dev")):
        raise RefusedError(
            f"{path!r} cannot be handed to a script", rule="inputs", hint="name a file or a folder by its absolute path"
        )
    if not os.path.exists(clean):
        raise NotFoundError(f"there is no {path!r} to hand to the script", hint="check the path")
    return clean


def _state(folder: str) -> list[tuple[object, ...]]:
    """Everything about the folder that a script could have changed. ctime cannot be set back, so contents need no reading."""
    found: list[tuple[object, ...]] = []
    for here, folders, files in os.walk(folder):
        for name in ("", *folders, *files):
            try:
                status = os.lstat(os.path.join(here, name))
            except OSError:
                continue
            facts = (status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            found.append((here, name, status.st_ino, *facts))
    return sorted(found, key=str)


def _outcome(answer: SupervisorReport, found: Isolation) -> Outcome:
    return Outcome(
        exit_code=answer["exit_code"],
        stdout=answer["stdout"].decode("utf-8", "replace"),
        stderr=answer["stderr"].decode("utf-8", "replace"),
        isolation=found,
        stdout_truncated=answer["stdout_truncated"],
        stderr_truncated=answer["stderr_truncated"],
        timed_out=answer["why"] == "time",
        cancelled=answer["why"] == "cancel",
        duration=answer["seconds"],
        peak_memory=answer["peak"] or None,
        files=tuple(OutputFile(path=path, data=data) for path, data in answer["files"]),
        stop_reason=answer["why"],
        refused_files=tuple((path, why) for path, why in answer["refused"]),
    )
