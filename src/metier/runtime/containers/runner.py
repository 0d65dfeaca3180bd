"""Runs scripts of skills in containers: the second implementation of `ScriptRunner`, over podman or docker.

It makes the same promises as `Runner`, and the supervisor of the sandbox keeps them: time, output, cancellation, the end of all
processes. The engine confines the script. A canary decides whether an engine is used at all.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.runtime.network.connections import Connection
from metier.runtime.sandbox import scratch
from metier.runtime.sandbox.folder_lock import lock_if_abandoned
from metier.runtime.sandbox.isolation import Isolation, container_isolation
from metier.runtime.sandbox.plan import OVERLAY_ERROR
from metier.runtime.sandbox.probe import ProbeResult
from metier.runtime.sandbox.seccomp import this_architecture
from metier.runtime.sandbox.spawner_client import SupervisorReport, send_request, send_request_sync
from metier.runtime.script_run import Outcome, ScriptRun
from metier.runtime.scripts.interpreters import ImageInterpreters, Interpreters, ScriptCommand
from metier.runtime.scripts.runner import check_argument_limits, check_input, outcome_of, read_script
from metier.runtime.secrets.redaction import hide_secrets
from metier.runtime.workspace.copy import copy_workspace
from metier.spec import resource_path
from metier.values import replace

from .canary import leaks, run_canary
from .command_line import LABEL, remove_words
from .engine import ContainerEngine, ContainerOptions, EngineKind, check_image, client_environment, find_engine
from .plan import plan_container_run, runs_folder

if TYPE_CHECKING:
    from metier.runtime.network.run_network import RunNetwork

__all__ = ["ContainerRunner", "check_supported", "container_network"]

_SUPPORTED = frozenset((
    "folder", "script", "code", "arguments", "stdin", "environment", "secrets", "named", "inputs", "outputs", "limits",
    "workspace", "hosts", "masked", "packages", "log",
))  # fmt: skip
# Combinations of options, tried in this order. A machine without systemd needs cgroupfs; crun refuses mixed cgroups.
_PODMAN_OPTIONS = (
    (),
    ("--cgroup-manager=cgroupfs",),
    ("--runtime=runc",),
    ("--runtime=runc", "--cgroup-manager=cgroupfs"),
    ("--runtime=runc", "--cgroup-manager=cgroupfs", "--storage-driver=vfs"),
)
_INSTALL = "install podman (Debian, Ubuntu: apt install podman; Fedora: dnf install podman)"
_CLIENT_SECONDS = 30
_NO_IMAGE = re.compile("image not known|no such image|unable to find image", re.IGNORECASE)
_PROBED: dict[tuple[ContainerOptions, EngineKind], tuple[ProbeResult, ContainerEngine | None]] = {}
"""As for `Runner`: a probe starts a container."""
_PROBING = threading.Lock()


class ContainerRunner:
    """Runs scripts in containers of podman or docker, with an image or with the system folders of this machine."""

    def __init__(
        self,
        options: ContainerOptions | None = None,
        *,
        interpreters: Interpreters | ImageInterpreters | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._options = options or ContainerOptions()
        self._environment = dict(os.environ if environment is None else environment)
        own: Interpreters | ImageInterpreters = interpreters or Interpreters()
        self._interpreters = ImageInterpreters() if self._options.image else own

    def probe_results(self) -> tuple[ProbeResult, ...]:
        """Probes each engine that may be used."""
        kinds = (self._options.engine,) if self._options.engine else tuple(EngineKind)
        return tuple(self._probe(kind)[0] for kind in kinds)

    def available(self) -> tuple[Isolation, ...]:
        return tuple(result.isolation for result in self.probe_results() if result.works)

    def best(self) -> Isolation | None:
        """Returns the isolation that runs will have, or None if they are refused."""
        found = self._engine()
        return found[0].isolation if found else None

    def problem(self, script: str, data: bytes) -> str:
        """Returns why a script with these bytes cannot run; empty if it can."""
        return self._interpreters.problem(script, data)

    async def run(self, run: ScriptRun) -> Outcome:
        """Runs the script. When cancelled, it raises CancelledError after its container has been removed."""
        check_supported(run)
        check_argument_limits(run)
        engine, request, network = await asyncio.to_thread(self._prepare, run)
        connections: tuple[Connection, ...] = ()
        try:
            report = await self._send(engine, request, network)
            if request["overlay"] and OVERLAY_ERROR in str(report.get("cannot_start", "")):
                if network:
                    await asyncio.to_thread(network.close)
                engine, request, network = await asyncio.to_thread(self._prepare, run, copied=True)
                report = await self._send(engine, request, network)
        finally:
            if network:
                connections = await asyncio.to_thread(network.close)
        if "cannot_start" in report:
            raise UnavailableError(
                f"the {engine.kind} container did not start: {_last_line(report)}", hint="see `metier doctor`"
            )
        is_copied = run.workspace is not None and not request["overlay"]
        isolation = self._isolation(engine, report, hosts=bool(run.hosts), copied=is_copied)
        return hide_secrets(replace(outcome_of(report, isolation), connections=connections), run)

    async def _send(
        self, engine: ContainerEngine, request: Mapping[str, object], network: RunNetwork | None
    ) -> SupervisorReport:
        try:
            return await send_request(request, network.start if network else None)
        except (EOFError, ConnectionError) as error:
            await asyncio.to_thread(self._remove, engine, os.path.basename(str(request["base"])))
            raise UnavailableError(f"the run was lost: {error}", hint="its supervisor was killed; try again") from None

    def _prepare(
        self, run: ScriptRun, *, copied: bool = False
    ) -> tuple[ContainerEngine, Mapping[str, object], RunNetwork | None]:
        engine = self._required_engine(run)
        network = container_network(run, engine)
        folder = os.path.realpath(run.folder) if run.folder else ""
        path, data = read_script(run, folder)
        command = self._interpreters.command(path, data, packages=run.packages)
        outputs = tuple(resource_path(output) for output in run.outputs)
        inputs = tuple(map(check_input, run.inputs))
        run = replace(run, folder=folder, inputs=inputs, outputs=outputs)
        copied = copied or not engine.has_no_daemon or (run.workspace is not None and os.path.isdir(run.workspace.copy))
        if run.workspace and copied:
            copy_workspace(run.workspace, most_bytes=run.limits.scratch_bytes, most_files=run.limits.scratch_files)
        return engine, self._plan(engine, run, path, data, command, network=network, copied=copied), network

    def _plan(
        self, engine: ContainerEngine, run: ScriptRun, path: str, data: bytes, command: ScriptCommand, **more: Any
    ) -> dict[str, object]:
        return plan_container_run(
            engine, self._options, run, path=path, data=data, command=command, variables=self._environment, **more
        )

    def _required_engine(self, run: ScriptRun) -> ContainerEngine:
        check_image(self._options)
        found = self._engine()
        if found and found[0].isolation.level.strength >= run.limits.require.strength:
            return found[1]
        failed = [result for result in self.probe_results() if not result.works]
        raise RefusedError(
            "no container engine can run scripts on this machine: "
            + "; ".join(dict.fromkeys(result.reason for result in failed)),
            rule="sandbox",
            hint=next((result.fix for result in failed if result.fix), "see `metier doctor`"),
        )

    def _engine(self) -> tuple[ProbeResult, ContainerEngine] | None:
        kinds = (self._options.engine,) if self._options.engine else tuple(EngineKind)
        for kind in kinds:
            result, engine = self._probe(kind)
            if result.works and engine:
                return result, engine
        return None

    def _probe(self, kind: EngineKind) -> tuple[ProbeResult, ContainerEngine | None]:
        key = (self._options, kind)
        with _PROBING:
            if key not in _PROBED:
                _PROBED[key] = self._probe_engine(kind)
            return _PROBED[key]

    def _probe_engine(self, kind: EngineKind) -> tuple[ProbeResult, ContainerEngine | None]:
        claimed = container_isolation(kind.value, cgroup=False, scratch_in_memory=True)
        failed = ProbeResult(isolation=claimed, works=False)
        engine = find_engine(kind)
        if missing := self._missing_requirement(kind, engine):
            return replace(failed, reason=missing[0], fix=missing[1]), None
        assert engine is not None  # noqa: S101
        first = failed
        for options in self._option_sets(kind):
            result = self._probe_with(replace(engine, options=options))
            if result.works:
                engine = replace(engine, options=options)
                self._sweep(engine)
                return result, engine
            first = first if first.reason else result
        return first, None

    def _missing_requirement(self, kind: EngineKind, engine: ContainerEngine | None) -> tuple[str, str] | None:
        if sys.platform != "linux":
            return f"{kind}: containers are supported on Linux only", "run it on Linux, or in a virtual machine"
        if engine is None:
            return f"{kind} is not installed", _INSTALL
        if this_architecture() is None:
            return f"{kind}: no system call filter for {os.uname().machine}", "use x86_64 or aarch64"
        if kind is EngineKind.DOCKER and not self._options.image:
            return "docker needs an image", f"set sandbox.image to NAME@sha256:..., or {_INSTALL}"
        try:
            check_image(self._options)
        except RefusedError as error:
            return str(error), error.hint
        return None

    def _option_sets(self, kind: EngineKind) -> tuple[tuple[str, ...], ...]:
        if self._options.options or kind is EngineKind.DOCKER:
            return (self._options.options,)
        return _PODMAN_OPTIONS

    def _probe_with(self, engine: ContainerEngine) -> ProbeResult:
        claimed = container_isolation(engine.kind.value, cgroup=False, scratch_in_memory=engine.has_scratch_in_memory)

        def execute(run: ScriptRun, data: bytes) -> SupervisorReport:
            command = self._interpreters.command(run.script, data)
            return send_request_sync(self._plan(engine, run, run.script, data, command))

        image, fix = self._options.image, f"check whether `{' '.join(engine.words)} run` works on this machine"
        failed = ProbeResult(isolation=claimed, works=False, fix=fix)
        try:
            seen, report = run_canary(execute)
        except (MetierError, OSError, EOFError, ValueError) as error:
            reason = _last_of(str(error)) or type(error).__name__
            if image and _NO_IMAGE.search(reason):
                return replace(
                    failed,
                    reason=f"{engine.kind}: the image {image} is not on this machine",
                    fix=f"run `{engine.kind} pull {image}`",
                )
            return replace(failed, reason=f"{engine.kind}: {reason}")
        if escaped := list(leaks(seen)):
            return replace(failed, reason=f"{engine.kind}: the canary escaped: {', '.join(escaped)}")
        if seen.get("scratch") != "yes":
            return replace(failed, reason=f"{engine.kind}: the scratch folder is not writable")
        return ProbeResult(isolation=self._isolation(engine, report), works=True)

    def _isolation(
        self, engine: ContainerEngine, report: Mapping[str, object], *, hosts: bool = False, copied: bool = False
    ) -> Isolation:
        return container_isolation(
            engine.kind.value, cgroup=report["cgroup"] is True, scratch_in_memory=engine.has_scratch_in_memory, hosts=hosts,
            copied=copied,
        )  # fmt: skip

    def _sweep(self, engine: ContainerEngine) -> None:
        """Removes the containers of runs whose supervisor was killed. The spawner removes their folders."""
        above = runs_folder(self._options)
        self._remove(engine, *(name for name in self._names(engine, above) if _is_abandoned(f"{above}/{name}")))

    def _remove(self, engine: ContainerEngine, *names: str) -> None:
        if names:
            self._client(remove_words(engine, *names))

    def _names(self, engine: ContainerEngine, above: str) -> list[str]:
        found = self._client([*engine.words, "ps", "--all", "--filter", f"label={LABEL}={above}", "--format", "{{.Names}}"])
        return [name for name in found.split() if scratch.is_run_folder(name)]

    def _client(self, words: list[str]) -> str:
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=_CLIENT_SECONDS, stdin=subprocess.DEVNULL,
                env=client_environment(self._environment),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""  # the next process tries again
        return done.stdout


def container_network(run: ScriptRun, engine: ContainerEngine) -> RunNetwork | None:
    """Returns the network of the run, or None without hosts. Our proxy must be able to listen inside the container."""
    if not run.hosts and not run.masked:
        return None
    if not engine.has_no_daemon:
        raise RefusedError(
            f"{engine.kind} gives a script no network access by host", rule="network",
            hint=f"{_INSTALL}, or `metier config set sandbox.runner sandbox`",
        )  # fmt: skip
    from metier.runtime.network.run_network import RunNetwork

    return RunNetwork(run)


def check_supported(run: ScriptRun) -> None:
    """Raises RefusedError if the run has something that containers cannot give it. Nothing is ignored."""
    for name in _asked(run):
        if name not in _SUPPORTED:
            raise RefusedError(
                f"the container runner does not know `{name}` of a run",
                rule="container",
                hint="use the sandbox for it: `metier config set sandbox.runner sandbox`",
            )


def _asked(run: ScriptRun) -> Iterator[str]:
    """Yields the fields that differ from their defaults."""
    for each in fields(run):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if getattr(run, each.name) != default:
            yield each.name


def _is_abandoned(folder: str) -> bool:
    """Returns True if no supervisor holds the folder of the run any more."""
    if not os.path.exists(folder):
        return True
    lock = lock_if_abandoned(folder)
    if lock is not None:
        os.close(lock)
    return lock is not None


def _last_line(report: SupervisorReport) -> str:
    return _last_of(str(report["cannot_start"]))


def _last_of(text: str) -> str:
    return " ".join(text.split())[-500:]
