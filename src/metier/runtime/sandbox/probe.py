"""Probes which isolation levels this machine has, by running a canary script at each one.

A version number or an installed program proves nothing: namespaces may be forbidden, the program may be another one, or it may
exit with success and run nothing. The canary must return a nonce that it gets as an argument, and must fail to read a file, to
write one, to open a socket and to see our process.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile

from metier.errors import MetierError
from metier.runtime.sandbox.isolation import Guard, Isolation, IsolationLevel
from metier.runtime.script_run import Limits, ScriptRun
from metier.runtime.scripts.interpreters import Interpreters, ScriptCommand
from metier.values import dataclass

from . import bubblewrap, landlock, seatbelt
from .isolation import isolation_at
from .plan import SandboxFeatures, plan_run
from .seccomp import this_architecture
from .spawner_client import send_request_sync

__all__ = ["ProbeResult", "detect_features", "probe_level"]

_CANARY = """
import json, os, socket, sys
def can(what, *words):
    try:
        what(*words)
    except OSError:
        return False
    return True
def write(path):
    with open(path, "w") as file:
        file.write("x")
seen = {"nonce": sys.argv[1], "read": can(lambda: open(sys.argv[2]).read()), "write": can(write, sys.argv[2] + ".new"),
        "skill": can(write, os.environ["SKILL_DIR"] + "/canary"), "socket": can(lambda: socket.socket().close()),
        "caller": can(lambda: open(f"/proc/{sys.argv[3]}/environ", "rb").read()),
        "signal": can(os.kill, int(sys.argv[3]), 0), "scratch": can(write, os.environ["HOME"] + "/x")}
print(json.dumps(seen))
"""
# Attempts of the canary that must fail, and the guard that each one tests.
_MUST_FAIL = {"read": Guard.HOME, "write": Guard.READ_ONLY, "skill": Guard.READ_ONLY, "socket": Guard.NETWORK,
              "caller": Guard.PROCESSES, "signal": Guard.SIGNALS}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """One isolation level on this machine. If it does not work: the reason, and how to fix it."""

    isolation: Isolation
    works: bool
    reason: str = ""
    fix: str = ""


def detect_features(*, bwrap: str | None = None, zone: str | None = None) -> SandboxFeatures:
    on_linux = sys.platform == "linux"
    return SandboxFeatures(bwrap=bwrap or bubblewrap.find(), abi=landlock.abi() if on_linux else 0, zone=zone)


def probe_level(features: SandboxFeatures, level: IsolationLevel) -> ProbeResult:
    """Runs the canary at one level."""
    root = os.geteuid() == 0
    claimed = isolation_at(level, abi=features.abi, root=root)
    missing = _missing_requirement(features, level)
    if missing:
        return ProbeResult(isolation=claimed, works=False, reason=missing[0], fix=missing[1])
    try:
        seen = _run_canary(features, level)
    except (MetierError, OSError, EOFError, ValueError) as error:
        return ProbeResult(isolation=claimed, works=False, reason=str(error) or type(error).__name__, fix=_FIXES[level])
    claimed = isolation_at(level, abi=features.abi, root=root, cgroup=seen["cgroup"] is True)
    leaks = [name for name, guard in _MUST_FAIL.items() if claimed.has(guard) and seen.get(name) is not False]
    if leaks:
        return ProbeResult(isolation=claimed, works=False, reason=f"the canary escaped: {', '.join(leaks)}", fix=_FIXES[level])
    if seen.get("scratch") is not True:
        return ProbeResult(isolation=claimed, works=False, reason="the scratch folder is not writable", fix=_FIXES[level])
    return ProbeResult(isolation=claimed, works=True)


_FIXES = {
    IsolationLevel.NAMESPACE: "allow unprivileged user namespaces for bwrap; on Ubuntu 24.04 or later give it an AppArmor "
    "profile: `apt install apparmor-profiles` and enable bwrap-userns-restrict",
    IsolationLevel.LANDLOCK: "use a kernel of 5.13 or later with `landlock` in its list of security modules",
    IsolationLevel.SEATBELT: "allow sandbox-exec to run",
    IsolationLevel.LIMITS: "check whether the system lets a process start others",
    IsolationLevel.OFF: "check whether the system lets a process start others",
}


def _missing_requirement(features: SandboxFeatures, level: IsolationLevel) -> tuple[str, str] | None:
    """Returns a reason that needs no run, with its fix."""
    linux = sys.platform == "linux"
    if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK) and not linux:
        return f"{level} needs Linux", "run it on Linux, or in a virtual machine"
    if level is IsolationLevel.SEATBELT and not (sys.platform == "darwin" and os.access(seatbelt.PROGRAM, os.X_OK)):
        return "seatbelt needs macOS", "run it on a Mac"
    if level in (IsolationLevel.NAMESPACE, IsolationLevel.LANDLOCK) and this_architecture() is None:
        return f"no system call filter for {os.uname().machine}", "use x86_64 or aarch64"
    if level is IsolationLevel.NAMESPACE and not features.bwrap:
        return "bubblewrap is not installed", bubblewrap.FIX
    if level is IsolationLevel.LANDLOCK and features.abi < 1:
        return "this kernel has no Landlock, or it is disabled", _FIXES[IsolationLevel.LANDLOCK]
    return None


def _run_canary(features: SandboxFeatures, level: IsolationLevel) -> dict[str, object]:
    nonce = secrets.token_hex(16)
    # Our own Python: the canary tests the level and must not depend on what else is installed.
    python = Interpreters(which=lambda _: sys.executable).command("canary.py", b"")
    command = ScriptCommand(kind="python", words=(python.words[0], "-I", "-S"), readable=python.readable)
    with tempfile.TemporaryDirectory(prefix="metier-canary-") as outside:
        outside = os.path.realpath(outside)
        secret = f"{outside}/secret"
        with open(secret, "w", encoding="ascii") as file:
            file.write(nonce)
        folder = f"{outside}/skill"
        os.makedirs(f"{folder}/scripts")
        with open(f"{folder}/scripts/canary.py", "w", encoding="ascii") as file:
            file.write(_CANARY)
        words = (nonce, secret, str(os.getpid()))
        run = ScriptRun(folder=folder, script="scripts/canary.py", arguments=words, limits=Limits(seconds=20))
        answer = send_request_sync(plan_run(features, level, run, path=run.script, data=_CANARY.encode(), command=command))
        if "cannot_start" in answer:
            raise ValueError(answer["cannot_start"])
        try:
            seen: dict[str, object] = json.loads(answer["stdout"])
        except ValueError:
            last = answer["stderr"].decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise ValueError(f"the canary did not run: {last[0]}") from None
        if seen.get("nonce") != nonce:
            raise ValueError("another program ran instead of the canary")
        # It may have written to a private folder with the same path. Only writes to ours count.
        return {
            **seen,
            "cgroup": answer["cgroup"],
            "write": os.path.exists(f"{secret}.new"),
            "skill": os.path.exists(f"{folder}/canary"),
        }
