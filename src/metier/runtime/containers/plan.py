"""Plans a run in a container: the request to the supervisor, with the engine's command line, all limits and all mounts."""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from metier.runtime.sandbox import overlay
from metier.runtime.sandbox.bubblewrap import CODE, SCRATCH, outermost
from metier.runtime.sandbox.plan import copy_request, overlay_request, plain_request, run_environment
from metier.runtime.sandbox.seccomp import this_architecture
from metier.runtime.script_run import Limits, ScriptRun
from metier.runtime.scripts.interpreters import ScriptCommand

from .command_line import READY, RunFiles, pid_words, remove_words, run_words, start_line
from .engine import ContainerEngine, ContainerOptions, client_environment
from .mounts import Mount, host_root, read_only
from .seccomp_profile import seccomp_profile

if TYPE_CHECKING:
    from metier.runtime.network.run_network import RunNetwork

__all__ = ["plan_container_run", "runs_folder"]


def runs_folder(options: ContainerOptions) -> str:
    return options.temporary or os.path.realpath(tempfile.gettempdir())


def plan_container_run(
    engine: ContainerEngine, options: ContainerOptions, run: ScriptRun, *, path: str, data: bytes, command: ScriptCommand,
    variables: Mapping[str, str], network: RunNetwork | None = None, copied: bool = False,
) -> dict[str, object]:  # fmt: skip
    """Returns the request. The options are those of `plan_run`; `variables` are the caller's environment."""
    files = RunFiles(base=f"{runs_folder(options)}/metier-{secrets.token_hex(8)}")
    script = f"{run.folder if run.code is None else CODE}/{path}"
    words = [*command.words, script, *run.arguments]
    network_files = network.files if network else []
    mounts = [*_mounts(run, command, has_image=bool(options.image), copied=copied), Mount(source=files.script, target=script)]
    mounts += [Mount(source=files.root_file(number), target=place) for number, (place, _) in enumerate(network_files)]
    argv = run_words(engine, files, image=options.image, mounts=mounts, limits=run.limits, interpreter=words[0])
    workspace: dict[str, object] = {}
    if run.workspace and copied:
        workspace = copy_request(run.workspace)
    elif run.workspace:
        workspace = overlay_request(run.workspace)
        layers = json.dumps(workspace["overlay"])
        argv = [*engine.mounting_words, sys.executable, "-I", "-S", "-B", overlay.__file__, layers, *argv]
    environment = run_environment(run, network, scratch=SCRATCH, zone=variables.get("TZ"))
    start = run.workspace.folder if run.workspace else run.folder or SCRATCH
    return {
        **plain_request(),
        **workspace,
        "level": "off",  # of the client, which confines the script
        "argv": argv,
        "environment": client_environment(variables),
        "folder": "/",
        "start": "/",
        "script_path": path,
        "script": data,
        "base": files.base,
        "scratch_on_disk": not engine.has_scratch_in_memory,
        "stdin": run.stdin or b"",
        "log": run.log,
        "outputs": list(run.outputs),
        "ports": list(network.ports) if network else [],
        "root_files": [data for _, data in network_files],
        "cgroup": False,  # of the client; the engine makes one for the container
        "guarded": False,
        "limits": {name: value for name, value in asdict(run.limits).items() if name != "require"},
        "rlimits": [],
        "watched": True,
        "helpers": 1,  # the shell that waits
        "container": {
            **_attachment_order(engine, files, run.limits, variables=variables),
            "links": {} if options.image else host_root()[1],
            "filter": _profile(internet=network is not None),
            "line": start_line(words, folder=start, environment=environment, has_input=run.stdin is not None),
        },
    }


def _attachment_order(
    engine: ContainerEngine, files: RunFiles, limits: Limits, *, variables: Mapping[str, str]
) -> dict[str, object]:
    """Returns how the supervisor finds the container, measures it and removes it."""
    return {
        "ready": READY,
        "remove": remove_words(engine, files.name),
        "environment": client_environment(variables),
        "pid_words": pid_words(engine, files),
        "pid_file": files.pid,
        "scratch": SCRATCH if engine.has_scratch_in_memory else "",
        "memory": limits.memory_bytes,
        "tasks": limits.processes + 1,
    }


def _mounts(run: ScriptRun, command: ScriptCommand, *, has_image: bool, copied: bool) -> list[Mount]:
    folders = () if has_image else host_root()[0]
    packages = run.packages
    wanted = [*command.readable, *run.inputs, *filter(None, (run.folder, packages.folder if packages else ""))]
    paths = dict.fromkeys((*folders, *outermost(wanted, known=() if has_image else ("/usr",)), *filter(None, (run.folder,))))
    workspace = run.workspace
    mounts = read_only(path for path in paths if workspace is None or path != workspace.folder)
    if workspace:
        source = workspace.copy if copied else workspace.merged
        mounts.append(Mount(source=source, target=workspace.folder, writable=workspace.write))
    if packages and packages.is_node:
        # Node looks for packages in every folder above the script, and this one is never the skill's.
        mounts.append(Mount(source=f"{packages.folder}/node_modules", target="/node_modules"))
    return mounts


def _profile(*, internet: bool) -> bytes:
    architecture = this_architecture()
    assert architecture is not None, "checked by the probe"  # noqa: S101
    return seccomp_profile(architecture, internet=internet)
