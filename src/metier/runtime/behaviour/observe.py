"""Runs a skill in the sandbox, in a made-up home and on a network that leads nowhere, and records what it does.

Two runs of all steps, at the same time, in different surroundings: `desktop` has a terminal, today's date and no marks of
automation; `ci` has no terminal, the variables of a build server, a debugger in Python, a date three years ahead, and gets code
from the network where code and data are both plausible. The home lives through all steps of a run, so that what one step leaves
another can use.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import resources

from metier.errors import MetierError, RefusedError, UnavailableError
from metier.runtime.network.authority import RunAuthority
from metier.runtime.sandbox import bubblewrap, system
from metier.runtime.sandbox.isolation import IsolationLevel
from metier.runtime.sandbox.seccomp import NUMBERS, notify_program, this_architecture
from metier.runtime.script_run import Limits, ScriptRun
from metier.runtime.scripts.runner import Runner
from metier.runtime.secrets.names import is_secret_name
from metier.spec import Files
from metier.values import dataclass

from . import commands
from .canaries import HOME, PROJECT, MadeUpHome, make_home
from .commands import words
from .judgement import judge
from .observation import DeedKind, ObservedRun, SkillObservation, read_records
from .report import BehaviourReport
from .sinkhole import Sinkhole
from .steps import Language, SkillSources, Step, plan_steps, read_sources, sample_files

__all__ = ["ObserveOptions", "observe", "observe_skill", "require_isolation"]

_CALLS = words(
    """
    openat execve connect sendto sendmsg sendmmsg nanosleep clock_nanosleep open openat2 execveat rename renameat
    renameat2 unlink unlinkat rmdir link linkat symlink symlinkat kill tkill tgkill rt_sigqueueinfo
    rt_tgsigqueueinfo pidfd_open
    """
)
_LINK = 200
_DRIVER, _PYTHON_SHIM, _NODE_SHIM = "driver.py", "sitecustomize.py", "preload.cjs"
_TOOLS = "/opt/workstation"
_SCRATCH = bubblewrap.SCRATCH
_COMMANDS = f"{_SCRATCH}/.tools/bin"
_THREE_YEARS = 3 * 366 * 86_400 + 3 * 86_400 + 9 * 3_600
_QUIET = ("/usr/", "/lib/", "/lib64/", "/etc/ld.so", "/etc/ssl/", "/etc/localtime", "/etc/fonts", "/dev/", "/opt/workstation/",
          "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/passwd", "/etc/python3", "/sys/",
          "/run/metier/certificates.pem", f"{_SCRATCH}/.tools", "/nix/store", "/bin/", "/sbin/",
          "/etc/alternatives", "/etc/gai.conf", "/etc/host.conf")  # fmt: skip
_CI = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKFLOW": "build", "BUILD_NUMBER": "12", "TERM": "dumb"}
_MOST_BYTES, _MOST_FILES = 24 * 1024 * 1024, 2_000
_PIPPED = 'import sys\nprint("Successfully installed", *[word for word in sys.argv[2:] if not word.startswith("-")])\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveOptions:
    step_seconds: float = 4.0
    seconds: float = 25.0
    """For all steps of one run."""


async def observe_skill(
    files: Files, name: str, *, runner: Runner | None = None, options: ObserveOptions | None = None
) -> BehaviourReport:
    """Observes a skill and judges what it did. Raises RefusedError if this machine cannot isolate it at level namespace."""
    return judge(await observe(files, name, runner=runner, options=options))


def require_isolation(runner: Runner | None = None) -> Runner:
    """Returns a runner at level namespace. Raises RefusedError if this machine has none."""
    runner = runner or Runner(level=IsolationLevel.NAMESPACE)
    if not (best := runner.best()) or best.level is not IsolationLevel.NAMESPACE:
        here = f"this machine has only {best.level}" if best else "this machine has no such sandbox"
        raise RefusedError(
            f"running a skill to observe it needs isolation level namespace; {here}",
            rule="sandbox",
            hint=f"{bubblewrap.FIX}, or scan without --run",
        )
    return runner


async def observe(
    files: Files, name: str, *, runner: Runner | None = None, options: ObserveOptions | None = None
) -> SkillObservation:
    """Observes a skill. Raises RefusedError if this machine cannot isolate it at level namespace."""
    runner = require_isolation(runner)
    authority = _authority()
    options = options or ObserveOptions()
    name = os.path.basename(name) or "skill"
    sources = read_sources(files, name)
    steps = plan_steps(sources)
    home = make_home(secrets.randbits(64), own_variables=_own_variables(sources))
    missing = _missing_interpreters(steps)
    runnable = tuple(step for step in steps if step.language.value not in missing)
    if not runnable:
        return SkillObservation(sources=sources, steps=(), home=home, runs=(), missing=missing)
    folder = tempfile.mkdtemp(prefix="metier-observe-")
    try:
        _write_skill(files, f"{folder}/{name}")
        surroundings = (_Surroundings("desktop", 0, {"TERM": "xterm-256color"}, terminal=True),
                        _Surroundings("ci", _THREE_YEARS, _CI, terminal=False))  # fmt: skip
        planned = [_RunPlan(f"{folder}/{name}", name, home, runnable, each, options) for each in surroundings]
        runs = await asyncio.gather(*(each.run(runner, authority) for each in planned))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return SkillObservation(sources=sources, steps=runnable, home=home, runs=tuple(runs), missing=missing)


def _authority() -> RunAuthority:
    try:
        return RunAuthority()
    except UnavailableError as error:
        raise UnavailableError("--run answers TLS, for which a package is missing", hint=error.hint, retryable=False) from None


@dataclass(frozen=True, slots=True)
class _Surroundings:
    name: str
    offset: int
    """Seconds by which the clock is ahead."""
    variables: Mapping[str, str]
    terminal: bool


@dataclass(frozen=True, slots=True)
class _RunPlan:
    folder: str
    name: str
    home: MadeUpHome
    steps: Sequence[Step]
    surroundings: _Surroundings
    options: ObserveOptions

    async def run(self, runner: Runner, authority: RunAuthority) -> ObservedRun:
        is_free = not any(path.startswith("/home/") for path in (self.folder, sys.prefix, sys.base_prefix))
        home = HOME if is_free else f"{_SCRATCH}{HOME}"
        plan = json.dumps(self._plan(home)).encode()
        sinkhole = Sinkhole(
            authority,
            {**self._root_files(), "/run/metier/plan.json": plan},
            links={"/home": f"{_SCRATCH}/home"} if is_free else {},
            prefer_code=not self.surroundings.terminal,
        )
        limits = Limits(
            seconds=self.options.seconds + 10, output_bytes=16 * 1024 * 1024, memory_bytes=2 * 1024**3, processes=128,
            open_files=512, file_bytes=64 * 1024 * 1024, scratch_bytes=192 * 1024 * 1024, scratch_files=20_000,
            require=IsolationLevel.NAMESPACE,
        )  # fmt: skip
        run = ScriptRun(script=_DRIVER, code=_inside(_DRIVER), inputs=(self.folder,), limits=limits)
        started = time.monotonic()
        outcome = await runner.run(run, network=sinkhole)
        deeds = read_records(outcome.stdout)
        return ObservedRun(
            name=self.surroundings.name, deeds=deeds, exchanges=sinkhole.exchanges,
            names=sinkhole.names, cpu=next((deed.seconds for deed in deeds if deed.kind is DeedKind.END), 0.0),
            is_complete=any(deed.kind is DeedKind.END for deed in deeds), seconds=time.monotonic() - started,
        )  # fmt: skip

    def _root_files(self) -> dict[str, bytes]:
        values = {"OFFSET": str(self.surroundings.offset), "DEBUGGER": "" if self.surroundings.terminal else "1"}
        return {
            f"{_TOOLS}/python/{_PYTHON_SHIM}": _filled(_inside(_PYTHON_SHIM), values),
            f"{_TOOLS}/python/pip/__init__.py": b"",
            f"{_TOOLS}/python/pip/__main__.py": _PIPPED.encode(),
            f"{_TOOLS}/node/{_NODE_SHIM}": _filled(_inside(_NODE_SHIM), values),
        }

    def _plan(self, home: str) -> dict[str, object]:
        architecture = this_architecture()
        assert architecture is not None  # noqa: S101  the level was probed
        project, copy = f"{home}/{PROJECT}", f"{home}/.claude/skills/{self.name}"
        files = {f"{home}/{path}": data for path, data in self.home.files.items()}
        for path in sample_files(self.steps):
            files.setdefault(os.path.normpath(f"{project}/{path}"), b"Example\n")
        for number, step in enumerate(self.steps):
            if step.is_block:
                files[_block_path(number, step)] = _block_code(step, copy)
        files |= {f"{_COMMANDS}/{name}": text for name, text in _commands(self.surroundings.offset).items()}
        column = architecture.column
        numbers = {str(NUMBERS[name][column]): name for name in _CALLS if NUMBERS[name][column] is not None}
        return {
            "home": home, "project": project, "skill": self.folder, "skill_copy": copy, "commands": _COMMANDS,
            "folders": [project, f"{home}/.config/systemd/user", f"{home}/.config/autostart", f"{home}/Desktop"],
            "files": {path: base64.b64encode(data).decode() for path, data in files.items()},
            "seconds": self.options.seconds, "quiet": list(_QUIET),
            "filter": base64.b64encode(notify_program(_CALLS, architecture, link=_LINK)).decode(), "calls": numbers,
            "ports": list(Sinkhole.listening),
            "steps": [self._step(number, step, home) for number, step in enumerate(self.steps)],
        }  # fmt: skip

    def _step(self, number: int, step: Step, home: str) -> dict[str, object]:
        copy = f"{home}/.claude/skills/{self.name}"
        path = _block_path(number, step) if step.is_block else f"{copy}/{step.file}"
        program = {
            Language.PYTHON: ["@python"],
            Language.SHELL: ["bash" if _has("bash") else "sh"],
            Language.JAVASCRIPT: ["node"],
        }[step.language]
        environment = {
            "HOME": home, "USER": "alex", "LOGNAME": "alex", "SHELL": "/bin/bash", "LANG": "C.UTF-8", "TMPDIR": _SCRATCH,
            "PATH": f"{_COMMANDS}:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": f"{_TOOLS}/python",
            "PYTHONDONTWRITEBYTECODE": "1",
            "NODE_OPTIONS": f"--require={_TOOLS}/node/{_NODE_SHIM}", "SKILL_DIR": copy, "CLAUDE_SKILL_DIR": copy,
            "CLAUDE_PLUGIN_ROOT": copy, "SKILL_ROOT": copy, "GIT_TERMINAL_PROMPT": "0",
            **Sinkhole.trust_variables(), **self.home.variables, **self.surroundings.variables,
        }  # fmt: skip
        return {
            "words": [*program, path, *step.arguments], "folder": f"{home}/{PROJECT}", "environment": environment, "stdin": "",
            "terminal": self.surroundings.terminal, "seconds": self.options.step_seconds,
        }  # fmt: skip


def _own_variables(sources: SkillSources) -> tuple[str, ...]:
    """Returns the names of variables in the skill's texts that look like secrets: it gets values for them."""
    names = re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", sources.prose + "\n" + sources.code)
    return tuple(name for name in dict.fromkeys(names) if is_secret_name(name))[:40]


def _missing_interpreters(steps: Sequence[Step]) -> tuple[str, ...]:
    wanted = {step.language for step in steps}
    return ("javascript",) if Language.JAVASCRIPT in wanted and not _has("node") else ()


def _has(command: str) -> bool:
    """Returns True if the run has the command, whatever the PATH of this process is."""
    return any(os.path.exists(f"{folder}/{command}") for folder in system.PATH.split(":"))


def _write_skill(files: Files, folder: str) -> None:
    total = 0
    os.makedirs(folder)
    for entry in list(files.list())[:_MOST_FILES]:
        total += entry.size
        if total > _MOST_BYTES:
            return
        try:
            data = files.read(entry.path, limit=_MOST_BYTES)
        except MetierError:
            continue
        path = os.path.join(folder, entry.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def _commands(offset: int) -> dict[str, bytes]:
    found = {name: commands.SUCCESS for name in commands.SUCCEEDS if name in commands.ALWAYS or not _has(name)}
    found |= {"sudo": commands.SUDO, "doas": commands.SUDO, "crontab": commands.CRONTAB, "at": commands.AT}
    if offset:
        found["date"] = commands.DATE.replace("@OFFSET@", str(offset))
    for name, text in (("curl", commands.CURL), ("wget", commands.CURL), ("nc", commands.NETCAT), ("ncat", commands.NETCAT)):
        if not _has(name):
            found[name] = text
    return {name: text.encode() for name, text in found.items()}


def _block_path(number: int, step: Step) -> str:
    suffix = {Language.PYTHON: "py", Language.SHELL: "sh", Language.JAVASCRIPT: "js"}[step.language]
    return f"{_SCRATCH}/.tools/blocks/{number}.{suffix}"


def _block_code(step: Step, skill: str) -> bytes:
    text = step.code
    for mark in ("{baseDir}", "{{baseDir}}", "<skill-dir>", "<skill_dir>", "{skill_dir}", "${CLAUDE_SKILL_DIR}"):
        text = text.replace(mark, skill)
    return text.encode()


def _inside(name: str) -> bytes:
    return resources.files(__package__).joinpath("inside", name).read_bytes()


def _filled(text: bytes, values: Mapping[str, str]) -> bytes:
    for name, value in values.items():
        text = text.replace(f"@{name}@".encode(), value.encode())
    return text
