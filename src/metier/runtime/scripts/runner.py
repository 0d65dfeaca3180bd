"""Runs scripts of skills in the sandbox.

`Runner.run` takes a ScriptRun and returns an Outcome. It raises before anything has started: RefusedError if the run is not
allowed, UnavailableError if this machine cannot do it. A script never runs at a weaker level than required, and the Outcome
never claims more isolation than there was.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from metier.errors import NotFoundError, RefusedError, UnavailableError
from metier.runtime.network.connections import Connection
from metier.runtime.sandbox.bubblewrap import FIX
from metier.runtime.sandbox.isolation import Isolation, IsolationLevel, isolation_at
from metier.runtime.sandbox.plan import OVERLAY_ERROR, SandboxFeatures, plan_run
from metier.runtime.sandbox.probe import ProbeResult, detect_features, probe_level
from metier.runtime.sandbox.spawner_client import SupervisorReport, send_request
from metier.runtime.script_run import Limits, Outcome, OutputFile, ScriptRun
from metier.runtime.secrets.redaction import hide_secrets
from metier.runtime.workspace.copy import copy_workspace
from metier.sources import DiskFiles
from metier.spec import resource_path
from metier.values import replace

from .interpreters import Interpreters

if TYPE_CHECKING:
    from metier.runtime.network.protocol import ScriptNetwork

__all__ = ["Runner", "check_argument_limits", "check_input", "outcome_of", "read_script"]

_LARGEST_SCRIPT = 64 * 1024 * 1024
_CONFINED = (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK, IsolationLevel.SEATBELT)
_PROBED: dict[tuple[SandboxFeatures, IsolationLevel], ProbeResult] = {}
"""A level does not change while the process runs, and a probe takes 50 ms."""
_PROBING = threading.Lock()


class Runner:
    """Runs scripts at the strongest level of this machine, or at a fixed one. `limits` and `off` must be fixed."""

    def __init__(
        self,
        *,
        level: IsolationLevel | None = None,
        features: SandboxFeatures | None = None,
        interpreters: Interpreters | None = None,
    ) -> None:
        self._levels = (level,) if level else _CONFINED
        self._features = features or detect_features(zone=os.environ.get("TZ"))
        self._interpreters = interpreters or Interpreters()

    def probe_results(self) -> tuple[ProbeResult, ...]:
        """Probes every level, strongest first."""
        return tuple(map(self._probe, IsolationLevel))

    def available(self) -> tuple[Isolation, ...]:
        """Returns the levels that work on this machine, strongest first."""
        return tuple(result.isolation for result in self.probe_results() if result.works)

    def best(self) -> Isolation | None:
        """Returns the isolation that runs will have, or None if they are refused."""
        return next((result.isolation for result in map(self._probe, self._levels) if result.works), None)

    def problem(self, script: str, data: bytes) -> str:
        """Returns why this machine cannot run a script with these bytes; empty if it can."""
        return self._interpreters.problem(script, data)

    async def run(self, run: ScriptRun, *, network: ScriptNetwork | None = None) -> Outcome:
        """Runs the script. When cancelled, it raises CancelledError after all processes of the run have ended.

        `network` replaces the one that leads to the hosts of the run.
        """
        check_argument_limits(run)
        # In a thread: the first run probes the sandbox and starts interpreters to find their folders.
        level, request, before, network = await asyncio.to_thread(self._prepare, run, own=network)
        connections: tuple[Connection, ...] = ()
        try:
            report = await _send(request, network)
            is_mounted = bool(request["overlay"])
            if is_mounted and str(report.get("cannot_start", "")).startswith(OVERLAY_ERROR):
                # The file system of the folder or of the layer cannot be part of an overlay, or the kernel does not allow it.
                is_mounted = False
                if network:
                    await asyncio.to_thread(network.close)
                level, request, before, network = await asyncio.to_thread(self._prepare, run, copied=True, own=None)
                report = await _send(request, network)
        finally:
            if network:
                connections = await asyncio.to_thread(network.close)
        if "cannot_start" in report:
            raise UnavailableError(f"the {level} sandbox did not start: {report['cannot_start']}", hint="see `metier doctor`")
        if before is not None and before != await asyncio.to_thread(_state, run):
            raise RefusedError(
                "the skill's folder or its packages changed while its script ran",
                rule="skill-changed",
                hint="install the skill again; its files can no longer be trusted",
            )
        isolation = isolation_at(
            level, hosts=bool(run.hosts), abi=self._features.abi, root=os.geteuid() == 0, cgroup=report["cgroup"],
            copied=run.workspace is not None and not is_mounted,
        )  # fmt: skip
        return hide_secrets(replace(outcome_of(report, isolation), connections=connections), run)

    def _prepare(
        self, run: ScriptRun, *, copied: bool = False, own: ScriptNetwork | None = None
    ) -> tuple[IsolationLevel, Mapping[str, object], object, ScriptNetwork | None]:
        """Returns the level, the request, the state of a folder that the level leaves writable, and the network of the run."""
        level = self._required_level(run.limits)
        network = own or _network(run, level)
        folder = os.path.realpath(run.folder) if run.folder else ""
        path, data = read_script(run, folder)
        command = self._interpreters.command(path, data, packages=run.packages)
        outputs = tuple(resource_path(output) for output in run.outputs)
        inputs = tuple(map(check_input, run.inputs))
        run = replace(run, folder=folder, inputs=inputs, outputs=outputs)
        copied = copied or (run.workspace is not None and os.path.isdir(run.workspace.copy))
        if run.workspace and (copied or level is not IsolationLevel.NAMESPACE):
            copy_workspace(run.workspace, most_bytes=run.limits.scratch_bytes, most_files=run.limits.scratch_files)
        is_fixed = level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK) or not folder
        before = None if is_fixed else _state(run)
        request = plan_run(self._features, level, run, path=path, data=data, command=command, network=network, copied=copied)
        return level, request, before, network

    def _required_level(self, limits: Limits) -> IsolationLevel:
        best = self.best()
        if best and best.level.strength >= limits.require.strength:
            return best.level
        failed = [result for result in map(self._probe, self._levels) if not result.works]
        available = f"this machine has only {best.level}" if best else "this machine has no sandbox"
        reasons = "; ".join(f"{result.isolation.level}: {result.reason}" for result in failed)
        fixes = [one.fix for one in failed if one.fix and one.isolation.level.strength >= limits.require.strength]
        raise RefusedError(
            f"scripts need isolation level {limits.require} or stronger; {available}" + (f" ({reasons})" if reasons else ""),
            rule="sandbox",
            hint=next(iter(fixes), f"set sandbox.require to {best.level} to run it anyway" if best else "see `metier doctor`"),
        )

    def _probe(self, level: IsolationLevel) -> ProbeResult:
        key = (self._features, level)
        with _PROBING:
            if key not in _PROBED:
                _PROBED[key] = probe_level(self._features, level)
            return _PROBED[key]


def _network(run: ScriptRun, level: IsolationLevel) -> ScriptNetwork | None:
    """Returns the network of the run, or None without hosts. Only a network namespace can hold a run to hosts."""
    if not run.hosts and not run.masked:
        return None
    if level is not IsolationLevel.NAMESPACE:
        raise RefusedError(
            f"network access by host needs isolation level namespace, and scripts run at level {level} here",
            rule="network",
            hint=f"{FIX}, or run the script without --network"
            if sys.platform == "linux"
            else "run the script without --network",
        )
    from metier.runtime.network.run_network import RunNetwork

    return RunNetwork(run)


async def _send(request: Mapping[str, object], network: ScriptNetwork | None) -> SupervisorReport:
    try:
        return await send_request(request, network.start if network else None)
    except (EOFError, ConnectionError) as error:
        raise UnavailableError(f"the run was lost: {error}", hint="its supervisor was killed; try again") from None


def check_argument_limits(run: ScriptRun) -> None:
    """Raises RefusedError if the arguments exceed the limits."""
    limits = run.limits
    if len(run.arguments) > limits.arguments:
        raise RefusedError(f"{len(run.arguments)} arguments exceed the limit of {limits.arguments}", rule="arguments",
                      hint="pass a list on standard input, or in a file")  # fmt: skip
    try:
        size = sum(len(argument.encode()) for argument in run.arguments)
    except UnicodeEncodeError:
        raise RefusedError("an argument is not valid text", rule="arguments", hint="pass it on standard input") from None
    if size > limits.argument_bytes:
        raise RefusedError(f"{size:,} bytes of arguments exceed the limit of {limits.argument_bytes:,}", rule="arguments",
                      hint="pass long text on standard input")  # fmt: skip
    if any("\0" in argument for argument in run.arguments):
        raise RefusedError("an argument contains a NUL character", rule="arguments", hint="pass it on standard input")


def read_script(run: ScriptRun, folder: str) -> tuple[str, bytes]:
    """Returns the script's path inside the skill without links, and its bytes. It is read once: these bytes run."""
    path = resource_path(run.script)
    if run.code is not None:
        if "/" in path:
            raise RefusedError(f"{path!r} is not the name of a program", rule="not-a-script", hint="use a name such as code.py")
        return path, run.code
    if not path.startswith("scripts/") and path not in run.named:
        raise RefusedError(f"{path!r} is not a script of the skill", rule="not-a-script", hint="scripts are in scripts/")
    data = DiskFiles(folder).read(path, limit=_LARGEST_SCRIPT)
    real = os.path.realpath(f"{folder}/{path}")
    if not real.startswith(f"{folder}/"):
        # It was inside the skill when it was read, so another process is changing it now.
        raise RefusedError(
            f"{path!r} is a link to a file outside the skill", rule="link-leaves-skill", hint="copy the file into the skill"
        )
    return real[len(folder) + 1 :], data


def check_input(path: str) -> str:
    """Rejects the whole file system, and folders that differ inside the sandbox."""
    clean = os.path.normpath(path)
    if not os.path.isabs(path) or "\0" in path or clean == "/" or clean.startswith(("/proc", "/sys", "/dev")):
        raise RefusedError(
            f"{path!r} cannot be an input of a script", rule="inputs", hint="use the absolute path of a file or folder"
        )
    if not os.path.exists(clean):
        raise NotFoundError(f"input {path!r} not found", hint="check the path")
    return clean


def _state(run: ScriptRun) -> list[tuple[object, ...]]:
    """Returns the state of the folders that a run may only read."""
    folders = (os.path.realpath(run.folder), *((run.packages.folder,) if run.packages else ()))
    return [each for folder in folders for each in _folder_state(folder)]


def _folder_state(folder: str) -> list[tuple[object, ...]]:
    """Returns everything in the folder that a script could change. ctime cannot be set back, so no file is read."""
    found: list[tuple[object, ...]] = []
    for here, folders, files in os.walk(folder):
        for name in ("", *folders, *files):
            try:
                status = os.lstat(os.path.join(here, name))
            except OSError:
                continue
            times = (status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            found.append((here, name, status.st_ino, *times))
    return sorted(found, key=str)


def outcome_of(report: SupervisorReport, isolation: Isolation) -> Outcome:
    return Outcome(
        exit_code=report["exit_code"],
        stdout=report["stdout"].decode("utf-8", "replace"),
        stderr=report["stderr"].decode("utf-8", "replace"),
        isolation=isolation,
        stdout_truncated=report["stdout_truncated"],
        stderr_truncated=report["stderr_truncated"],
        timed_out=report["stop_reason"] == "time",
        cancelled=report["stop_reason"] == "cancel",
        duration=report["seconds"],
        peak_memory=report["peak"] or None,
        files=tuple(OutputFile(path=path, data=data) for path, data in report["files"]),
        stop_reason=report["stop_reason"],
        refused_files=tuple((path, reason) for path, reason in report["refused"]),
    )
