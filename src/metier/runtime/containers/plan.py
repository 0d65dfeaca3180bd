"""Plans a run in a container: the request to the supervisor, with the engine's command line, all limits and all mounts."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import asdict

from metier.runtime.sandbox import system
from metier.runtime.sandbox.bubblewrap import SCRATCH, outermost
from metier.runtime.sandbox.plan import plain_request
from metier.runtime.sandbox.seccomp import this_architecture
from metier.runtime.script_run import ScriptRun
from metier.runtime.scripts.interpreters import ScriptCommand

from .command_line import READY, RunFiles, pid_words, remove_words, run_words, start_line
from .engine import ContainerEngine, ContainerOptions, client_environment
from .mounts import Mount, host_root, read_only
from .seccomp_profile import seccomp_profile

__all__ = ["plan_container_run", "runs_folder"]


def runs_folder(options: ContainerOptions) -> str:
    return options.temporary or os.path.realpath(tempfile.gettempdir())


def plan_container_run(
    engine: ContainerEngine, options: ContainerOptions, run: ScriptRun, *, path: str, data: bytes, command: ScriptCommand,
    variables: Mapping[str, str],
) -> dict[str, object]:  # fmt: skip
    """Returns the request. `path`, `data` and `command` are those of `plan_run`; `variables` are the caller's."""
    files = RunFiles(base=f"{runs_folder(options)}/metier-{secrets.token_hex(8)}")
    script = f"{run.folder}/{path}"
    limits = run.limits
    words = [*command.words, script, *run.arguments]
    environment = system.environment(
        scratch=SCRATCH, skill=run.folder, allowed=run.environment, secrets=run.secrets, zone=variables.get("TZ")
    )
    folders, links = ((), {}) if options.image else host_root()
    paths = (*folders, *outermost((*command.readable, *run.inputs, run.folder), known=() if options.image else ("/usr",)))
    mounts = [*read_only(dict.fromkeys((*paths, run.folder))), Mount(source=files.script, target=script)]
    client = client_environment(variables)
    in_memory = engine.has_scratch_in_memory
    return {
        **plain_request(),
        "level": "off",  # of the client, which confines the script
        "argv": run_words(engine, files, image=options.image, mounts=mounts, limits=limits, interpreter=words[0]),
        "environment": client,
        "folder": "/",
        "start": "/",
        "script_path": path,
        "script": data,
        "base": files.base,
        "scratch_on_disk": not in_memory,
        "stdin": run.stdin or b"",
        "outputs": list(run.outputs),
        "cgroup": False,  # of the client; the engine makes one for the container
        "guarded": False,
        "limits": {name: value for name, value in asdict(limits).items() if name != "require"},
        "rlimits": [],
        "watched": True,
        "helpers": 1,  # the shell that waits
        "container": {
            "links": links,
            "filter": _profile(),
            "ready": READY,
            "line": start_line(words, folder=run.folder, environment=environment, has_input=run.stdin is not None),
            "remove": remove_words(engine, files.name),
            "environment": client,
            "pid_words": pid_words(engine, files),
            "pid_file": files.pid,
            "scratch": SCRATCH if in_memory else "",
            "memory": limits.memory_bytes,
            "tasks": limits.processes + 1,
        },
    }


def _profile() -> bytes:
    architecture = this_architecture()
    assert architecture is not None, "checked by the probe"  # noqa: S101
    return seccomp_profile(architecture)
