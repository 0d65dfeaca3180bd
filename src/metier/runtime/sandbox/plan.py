"""A run as one request to a supervisor: every word of the command line, every limit, every path, decided beforehand."""

from __future__ import annotations

import math
import os
import secrets
import sys
import tempfile
from dataclasses import asdict

from metier.runtime.sandbox.isolation import IsolationLevel
from metier.runtime.script_run import Limits, ScriptRun
from metier.runtime.scripts.interpreters import ScriptCommand
from metier.values import dataclass

from . import bubblewrap, seatbelt, seccomp, system
from .seccomp import this_architecture

__all__ = ["SandboxFeatures", "plan_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFeatures:
    """What this machine has to offer, as found out once."""

    bwrap: str | None = None
    abi: int = 0
    """Of Landlock."""
    zone: str | None = None
    temporary: str = ""
    """Where scratch folders are made, for the levels that have them on disk."""

    @property
    def base(self) -> str:
        return self.temporary or os.path.realpath(tempfile.gettempdir())


def plan_run(
    machine: SandboxFeatures, level: IsolationLevel, run: ScriptRun, *, path: str, data: bytes, command: ScriptCommand
) -> dict[str, object]:
    """`path`: of the script inside the skill, with no links in it; `data`: its bytes, as they were checked."""
    base = "" if level is IsolationLevel.NAMESPACE else f"{machine.base}/metier-{secrets.token_hex(8)}"
    scratch = f"{base}/scratch" if base else bubblewrap.INSIDE
    script = f"{base}/skill/{path}" if base else f"{run.folder}/{path}"
    words = [*command.words, script, *run.arguments]
    limits = run.limits
    asked: dict[str, object] = {
        "level": level.value,
        "argv": words,
        "environment": system.environment(
            scratch=scratch, skill=run.folder, allowed=run.environment, secrets=run.secrets, zone=machine.zone
        ),
        "folder": run.folder,
        "script_path": path,
        "script": data,
        "base": base,
        "stdin": run.stdin,
        "outputs": list(run.outputs),
        "network": run.network,
        "limits": {name: value for name, value in asdict(limits).items() if name != "require"},
        "rlimits": [] if level is IsolationLevel.OFF else _rlimits(limits),
        "watched": level is not IsolationLevel.OFF and sys.platform == "linux",
        # bubblewrap's own two processes
        "helpers": 2 if level is IsolationLevel.NAMESPACE else 0,
    }
    if level is IsolationLevel.NAMESPACE:
        asked["argv"] = bubblewrap.arguments(
            machine.bwrap or "", words, skill=run.folder, script=script, also_readable=(*command.readable, *run.inputs),
            network=run.network, room=limits.scratch_bytes,
        )  # fmt: skip
        asked["filter"] = _filter(seccomp.FilterOptions(network=run.network))
        asked["rlimits"] = [*_rlimits(limits), ("RLIMIT_NPROC", limits.processes, limits.processes)]
    elif level is IsolationLevel.LANDLOCK:
        policy = seccomp.FilterOptions(network=run.network, keep_modes=True, keep_queues=True, keep_sizes=machine.abi < 3)
        asked["filter"] = _filter(policy)
        asked["abi"] = machine.abi
        asked["readable"] = [*system.readable(network=run.network), *command.readable, *run.inputs, run.folder, f"{base}/skill"]
        asked["writable"] = [scratch, *system.DEVICES]
    elif level is IsolationLevel.SEATBELT:
        profile = seatbelt.profile(
            readable=[*system.readable(network=run.network), *command.readable, *run.inputs, run.folder, f"{base}/skill"],
            writable=scratch, network=run.network,
        )  # fmt: skip
        asked["argv"] = [seatbelt.PROGRAM, "-p", profile, *words]
    return asked


def _filter(policy: seccomp.FilterOptions) -> bytes:
    architecture = this_architecture()
    assert architecture is not None, "a level with a filter is offered only where one can be built"  # noqa: S101
    return seccomp.filter_program(policy, architecture)


def _rlimits(limits: Limits) -> list[tuple[str, int, int]]:
    seconds = max(1, math.ceil(limits.seconds))
    both = [("RLIMIT_DATA", limits.memory_bytes), ("RLIMIT_FSIZE", limits.file_bytes), ("RLIMIT_NOFILE", limits.open_files)]
    return [("RLIMIT_CPU", seconds, seconds + 1), ("RLIMIT_CORE", 0, 0), *((name, most, most) for name, most in both)]
