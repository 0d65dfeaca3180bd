"""Plans a run: the request to the supervisor, with the whole command line, all limits and all paths."""

from __future__ import annotations

import math
import os
import secrets
import sys
import tempfile
from dataclasses import asdict
from typing import TYPE_CHECKING

from metier.runtime.sandbox.isolation import SCOPED_SIGNALS, IsolationLevel
from metier.runtime.script_run import Limits, ScriptRun
from metier.runtime.scripts.interpreters import ScriptCommand
from metier.runtime.workspace.mount import WorkspaceMount
from metier.values import dataclass

from . import bubblewrap, seatbelt, seccomp, system
from .scratch import measure_folder
from .seccomp import this_architecture

if TYPE_CHECKING:
    from metier.runtime.network.protocol import ScriptNetwork

__all__ = [
    "OVERLAY_ERROR",
    "SandboxFeatures",
    "copy_request",
    "overlay_request",
    "plain_request",
    "plan_run",
    "run_environment",
]

OVERLAY_ERROR = "OverlayError: "
"""A report that begins so is about the mount of the workspace; the script has not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFeatures:
    """The sandbox features of this machine, detected once."""

    bwrap: str | None = None
    abi: int = 0
    """Of Landlock."""
    zone: str | None = None
    temporary: str = ""
    """The folder of scratch folders, for levels that have them on disk."""
    cgroup: bool = True
    """Use a cgroup if one can be had. Otherwise memory and processes are measured."""

    @property
    def base(self) -> str:
        return self.temporary or os.path.realpath(tempfile.gettempdir())


def plain_request() -> dict[str, object]:
    """Returns the parts of a request that only some runs have, for a run without them: workspace, network, packages, log."""
    return {
        "overlay": {},
        "layer": "",
        "written": "",
        "kept": [0, 0],
        "ports": [],
        "takes_all": False,
        "root_files": [],
        "node_modules": "",
        "log": "",
    }


def plan_run(
    features: SandboxFeatures, level: IsolationLevel, run: ScriptRun, *, path: str, data: bytes, command: ScriptCommand,
    network: ScriptNetwork | None = None, copied: bool = False,
) -> dict[str, object]:  # fmt: skip
    """Returns the request. `path` is the script inside the skill, without links; `data` are its checked bytes.

    With `copied`, a namespace shows the copy of the workspace, at the path of the workspace.
    """
    is_namespace = level is IsolationLevel.NAMESPACE
    base = "" if is_namespace else f"{features.base}/metier-{secrets.token_hex(8)}"
    scratch = f"{base}/scratch" if base else bubblewrap.SCRATCH
    inside = run.folder if run.code is None else bubblewrap.CODE
    script = f"{base}/skill/{path}" if base else f"{inside}/{path}"
    request: dict[str, object] = {
        **plain_request(),
        "level": level.value,
        "argv": [*command.words, script, *run.arguments],
        "environment": run_environment(run, network, scratch=scratch, zone=features.zone, is_linked=bool(base)),
        "node_modules": f"{run.packages.folder}/node_modules" if run.packages and run.packages.is_node else "",
        "folder": run.folder if run.code is None else "",
        "start": run.folder or scratch,
        "script_path": path,
        "script": data,
        "base": base,
        "scratch_on_disk": bool(base),
        "stdin": run.stdin,
        "log": run.log,
        "outputs": list(run.outputs),
        "cgroup": features.cgroup,
        "limits": {name: value for name, value in asdict(run.limits).items() if name != "require"},
        "rlimits": [] if level is IsolationLevel.OFF else _rlimits(run.limits),
        "watched": level is not IsolationLevel.OFF and sys.platform == "linux",
        "helpers": 0,
        "guarded": False,
    }
    if is_namespace:
        return {**request, **_namespace_request(features, run, command, script=script, network=network, copied=copied)}
    request |= copy_request(run.workspace) if run.workspace else {}
    readable, writable = [*_readable(run, command), f"{base}/skill"], [scratch, *_writable(run)]
    if level is IsolationLevel.LANDLOCK:
        request |= _landlock_request(features, readable=readable, writable=writable)
    elif level is IsolationLevel.SEATBELT:
        profile = seatbelt.profile(readable=readable, writable=writable)
        request["argv"] = [seatbelt.PROGRAM, "-p", profile, *command.words, script, *run.arguments]
    return request


def _namespace_request(
    features: SandboxFeatures, run: ScriptRun, command: ScriptCommand, *, script: str, network: ScriptNetwork | None,
    copied: bool,
) -> dict[str, object]:  # fmt: skip
    """Returns what a namespace has and other levels do not: the command line of bubblewrap, mounts, and the network."""
    files = network.files if network else []
    takes_all = network is not None and network.takes_all
    workspace: dict[str, object] = {}
    merged = ""
    if run.workspace and copied:
        workspace, merged = {**copy_request(run.workspace), "start": run.workspace.folder}, run.workspace.copy
    elif run.workspace:
        workspace, merged = overlay_request(run.workspace), run.workspace.merged
    words = bubblewrap.arguments(
        features.bwrap or "", [*command.words, script, *run.arguments], skill=run.folder, script=script, packages=run.packages,
        also_readable=(*command.readable, *run.inputs, *_package_folders(run)), files=[place for place, _ in files],
        links=network.links if network else {}, scratch_bytes=run.limits.scratch_bytes, merged=merged,
        workspace=run.workspace.folder if run.workspace else "",
        is_writable=run.workspace is not None and run.workspace.write,
    )  # fmt: skip
    return {
        **workspace,
        "argv": words,
        "ports": list(network.ports) if network else [],
        "takes_all": takes_all,
        "root_files": [data for _, data in files],
        "filter": _filter(seccomp.FilterOptions(internet=network is not None, tracing=takes_all)),
        "rlimits": [*_rlimits(run.limits), ("RLIMIT_NPROC", run.limits.processes, run.limits.processes)],
        "helpers": 2,  # bubblewrap's own two processes
    }


def _landlock_request(features: SandboxFeatures, *, readable: list[str], writable: list[str]) -> dict[str, object]:
    return {
        "filter": _filter(seccomp.FilterOptions(keep_files=True, keep_sizes=features.abi < 3)),
        "abi": features.abi,
        "readable": readable,
        "writable": [*writable, *system.DEVICES],
        "guarded": features.abi < SCOPED_SIGNALS,
    }


def _readable(run: ScriptRun, command: ScriptCommand) -> tuple[str, ...]:
    return (*system.readable(), *command.readable, *run.inputs, *_package_folders(run), *_folders(run))


def _folders(run: ScriptRun) -> list[str]:
    """Returns the skill's folder and the copy of the workspace, as far as the run has them."""
    return [path for path in (run.folder, run.workspace.copy if run.workspace else "") if path]


def _writable(run: ScriptRun) -> list[str]:
    return [run.workspace.copy] if run.workspace and run.workspace.write else []


def overlay_request(workspace: WorkspaceMount) -> dict[str, object]:
    """Returns the parts of a request about a workspace that is mounted."""
    layers = {"folder": workspace.folder, "mask": workspace.mask, "upper": workspace.upper, "merged": workspace.merged}
    layers |= {"work": f"{workspace.layer}/work", "users": f"{workspace.layer}/mount"}
    return {"layer": workspace.layer, "overlay": layers, "written": workspace.upper, "start": workspace.folder}


def copy_request(workspace: WorkspaceMount) -> dict[str, object]:
    """Returns the parts of a request about a workspace that was copied."""
    kept = measure_folder(workspace.copy)
    written = workspace.copy if workspace.write else ""
    return {"layer": workspace.layer, "written": written, "kept": list(kept), "start": workspace.copy}


def run_environment(
    run: ScriptRun, network: ScriptNetwork | None, *, scratch: str, zone: str | None, is_linked: bool = False
) -> dict[str, str]:
    """Returns all variables of the script. `is_linked` if its skill is a folder of links."""
    secrets = {**run.secrets, **(network.secrets if network else {})}
    clean = system.environment(scratch=scratch, skill=run.folder, allowed=run.environment, zone=zone, secrets=secrets)
    return clean | (network.variables if network else {}) | _package_variables(run, is_linked=is_linked)


def _package_variables(run: ScriptRun, *, is_linked: bool) -> dict[str, str]:
    """Returns the variables that lead programs which the script starts to its packages."""
    if run.packages is None:
        return {}
    if not run.packages.is_node:
        return {"PYTHONPATH": run.packages.folder}
    # Where the skill is a folder of links, packages are found from the links, not from the files that they lead to.
    options = {"NODE_OPTIONS": "--preserve-symlinks"} if is_linked else {}
    return {"NODE_PATH": f"{run.packages.folder}/node_modules", **options}


def _package_folders(run: ScriptRun) -> tuple[str, ...]:
    return (run.packages.folder,) if run.packages else ()


def _filter(options: seccomp.FilterOptions) -> bytes:
    architecture = this_architecture()
    assert architecture is not None, "levels with a filter are offered only on supported processors"  # noqa: S101
    return seccomp.filter_program(options, architecture)


def _rlimits(limits: Limits) -> list[tuple[str, int, int]]:
    seconds = max(1, math.ceil(limits.seconds))
    both = [("RLIMIT_DATA", limits.memory_bytes), ("RLIMIT_FSIZE", limits.file_bytes), ("RLIMIT_NOFILE", limits.open_files)]
    return [("RLIMIT_CPU", seconds, seconds + 1), ("RLIMIT_CORE", 0, 0), *((name, most, most) for name, most in both)]
