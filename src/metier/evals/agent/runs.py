"""One run of an agent program: a fresh home, the chosen skills, one prompt.

runner = AgentRunner(agent=HEADLESS_AGENTS["codex"], program="/usr/bin/codex", access=access)
done = await runner.run("fill in this form", skills=[entry], until_loaded="pdf-forms")
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence

from metier.catalog import Entry
from metier.errors import MetierError, RefusedError, UnavailableError
from metier.hosts import HeadlessAgent
from metier.runtime import printable
from metier.runtime.sandbox import ConfinedProgram, namespace_problem, readable_of, system_call_filter
from metier.sources import DiskFiles, find_command, replace_bytes
from metier.spec import OwnFiles
from metier.values import dataclass

from .conversation import AgentTurn
from .proxy import ModelAccess, ModelProxy, SeenRequests
from .recorded_answers import Recording

__all__ = ["AgentAnswer", "AgentRunner", "find_program", "isolation_note"]

_PORT = 8317
_HOME = "/home/user"
_LARGEST = 1 << 26
_MOST_OUTPUT = 1 << 20
_ETC = {
    "passwd": "root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n",
    "group": "root:x:0:\nuser:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAnswer:
    """The end of one run, as the program and the proxy saw it."""

    text: str
    """The output of the program."""
    loaded: tuple[str, ...]
    """The skills that were loaded, the first first."""
    tokens: int
    seconds: float
    requests: int
    exit_code: int | None
    """None if we stopped it."""
    stopped: str = ""
    """`loaded` or `requests` if we stopped it because the answer was known."""
    turns: tuple[AgentTurn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunner:
    agent: HeadlessAgent
    program: str
    access: ModelAccess
    model: str = ""
    """The model's name, as the program takes it; empty for the program's own choice."""
    recording: Recording | None = None
    sandbox: bool = True
    seconds: float = 300.0
    node: str = ""
    """The Node.js that the program needs, if it is a script."""

    async def run(
        self, prompt: str, *, skills: Sequence[Entry], until_loaded: str = "", most_requests: int = 0,
        inputs: str = "", outputs: str = "",
    ) -> AgentAnswer:  # fmt: skip
        """Runs the program with one prompt.

        It is stopped when the skill `until_loaded` was loaded, or after `most_requests`. The files of `inputs` are in its
        folder; what it changes there is copied to `outputs`. UnavailableError if the program fails or takes too long.
        """
        with tempfile.TemporaryDirectory(prefix="metier-eval-", ignore_cleanup_errors=True) as folder:
            place = _Place(os.path.realpath(folder), self.agent)
            before = place.prepare(skills, inputs)
            stop = _Stop(asyncio.get_running_loop())
            with ModelProxy(
                self.access, skills=[entry.name for entry in skills], scope=_scope(self.agent.host, skills),
                recording=self.recording, socket=place.socket if self.sandbox else "", home=place.home,
                on_load=lambda name: name == until_loaded and stop("loaded"), most_requests=most_requests,
                on_limit=lambda: stop("requests"),
            ) as proxy:  # fmt: skip
                url = f"http://127.0.0.1:{_PORT if self.sandbox else proxy.port}"
                place.write(self.agent.files(url, model=self.model))
                started = time.monotonic()
                code, out, err = await self._start(place, url, prompt, stop)
                seconds = time.monotonic() - started
            _check(self.agent.program, code, out, err, stop.reason, proxy.seen, self.seconds)
            if outputs:
                place.collect(before, outputs)
        seen = proxy.seen
        return AgentAnswer(
            text=printable(out), loaded=seen.loaded, tokens=seen.tokens, seconds=seconds, requests=seen.requests,
            exit_code=code, stopped=stop.reason, turns=seen.turns,
        )  # fmt: skip

    async def _start(self, place: _Place, url: str, prompt: str, stop: _Stop) -> tuple[int | None, str, str]:
        words = (self.program, *self.agent.command(prompt, model=self.model, free=self.sandbox))
        home = _HOME if self.sandbox else place.home
        folders = [os.path.dirname(self.node)] if self.node else []
        environment = {
            "HOME": home, "PATH": ":".join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]), "LC_ALL": "C.UTF-8",
            "TERM": "dumb", "NO_COLOR": "1", "TZ": "UTC", **self.agent.variables(url),
        }  # fmt: skip
        if not self.sandbox:
            return await _finish(words, place.project, environment, stop, self.seconds, stdin=asyncio.subprocess.DEVNULL)
        confined = ConfinedProgram(
            words=words, home=place.home, folder=f"{_HOME}/project", socket=place.socket, port=_PORT, environment=environment,
            readable=readable_of(self.program, also=[os.path.realpath(self.node)] if self.node else []),
            files={f"/etc/{name}": os.path.join(place.folder, name) for name in _ETC},
        )  # fmt: skip
        with contextlib.ExitStack() as opened:
            rules, descriptor = system_call_filter(), None
            if rules:
                file = opened.enter_context(tempfile.TemporaryFile())
                file.write(rules)
                file.seek(0)
                descriptor = file.fileno()
            # The other end stays with us, and closes when metier ends in any way.
            inner, outer = os.pipe()
            opened.callback(os.close, inner)
            opened.callback(os.close, outer)
            words = tuple(confined.command(filter_descriptor=descriptor))
            passed = () if descriptor is None else (descriptor,)
            return await _finish(words, "/", {}, stop, self.seconds, stdin=inner, passed=passed)


class _Stop:
    """Ends a run from a thread of the proxy."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.event = asyncio.Event()
        self.reason = ""
        self._loop = loop

    def __call__(self, reason: str) -> bool:
        self.reason = self.reason or reason
        # The run may be over already, and with it the loop.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.event.set)
        return True


class _Place:
    """The folder of one run: `home`, with the project in it, and the proxy's socket."""

    def __init__(self, folder: str, agent: HeadlessAgent) -> None:
        self.folder = folder
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(self.home, "project")
        self.socket = os.path.join(folder, "model")
        self._skills = os.path.join(self.home, agent.skills)

    def prepare(self, skills: Sequence[Entry], inputs: str) -> Mapping[str, bytes]:
        """Writes the skills, without their evals, and the inputs. Returns the files of the project."""
        os.makedirs(self.project)
        for name, text in _ETC.items():
            replace_bytes(os.path.join(self.folder, name), text.encode(), mode=0o644, inside=self.folder)
        for entry in skills:
            files = DiskFiles(entry.folder)
            for file in OwnFiles(files).list():
                if not file.path.startswith("evals/"):
                    data = files.read(file.path, limit=_LARGEST)
                    mode = 0o755 if os.access(os.path.join(entry.folder, file.path), os.X_OK) else 0o644
                    replace_bytes(os.path.join(self._skills, entry.name, file.path), data, mode=mode, inside=self.home)
        for path, data in _files(inputs) if inputs else ():
            replace_bytes(os.path.join(self.project, path), data, mode=0o644, inside=self.home)
        return dict(_files(self.project))

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            replace_bytes(os.path.join(self.home, name), text.encode(), mode=0o644, inside=self.home)

    def collect(self, before: Mapping[str, bytes], outputs: str) -> None:
        """Copies the files that are new or changed."""
        for path, data in _files(self.project):
            if before.get(path) != data:
                replace_bytes(os.path.join(outputs, path), data, mode=0o644, inside=outputs)


def find_program(agent: HeadlessAgent, given: str | None, path: str) -> tuple[str, str]:
    """Returns the program and the Node.js that it needs, if any. UnavailableError if there is none."""
    found = find_command(given or agent.program, path)
    if found is None:
        name = given or agent.program
        raise UnavailableError(
            f"the program {name!r} of {agent.host} was not found", hint="install it, or name it with --program PATH"
        )
    found = os.path.abspath(found)
    with open(found, "rb") as stream:
        start = stream.read(200).partition(b"\n")[0]
    if not (start.startswith(b"#!") and b"node" in start):
        return found, ""
    node = find_command("node", path)
    if node is None:
        raise UnavailableError(f"{found} needs Node.js, which was not found", hint="install Node.js")
    return found, node


def isolation_note(*, sandbox: bool) -> str:
    """Returns what limits the program. RefusedError if the sandbox is wanted and this machine has none."""
    if not sandbox:
        return (
            "the program ran without a sandbox: it had a fresh home and a clean environment, but could read this machine's "
            "files and use its network"
        )
    if problem := namespace_problem():
        raise RefusedError(
            f"this machine has no sandbox for a whole program ({problem})", rule="sandbox",
            hint="install bubblewrap, or use --no-sandbox if you trust the skill and the model",
        )  # fmt: skip
    return (
        "the program ran in a namespace: it saw only its own home and the system's programs, and no network but the model's "
        "server; memory and processes were not limited"
    )


def _scope(host: str, skills: Sequence[Entry]) -> str:
    offered = "\n".join(sorted(f"{entry.name}: {entry.description}" for entry in skills))
    return f"{host} {hashlib.sha256(offered.encode('utf-8', 'replace')).hexdigest()}"


async def _finish(
    words: Sequence[str], folder: str, environment: Mapping[str, str], stop: _Stop, seconds: float, *, stdin: int,
    passed: Sequence[int] = (),
) -> tuple[int | None, str, str]:  # fmt: skip
    """Runs a process to its end. Returns its exit code, None if it was stopped, and what it printed."""
    # Files and not pipes: a process that outlives the program for a moment would keep a pipe open.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = await asyncio.create_subprocess_exec(
            *words, cwd=folder, env=dict(environment), stdin=stdin, stdout=out, stderr=err, pass_fds=passed,
            start_new_session=True,
        )  # fmt: skip
        ends = asyncio.create_task(process.wait())
        stops = asyncio.create_task(stop.event.wait())
        try:
            done, _ = await asyncio.wait({ends, stops}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                stop.reason = "time"
        finally:
            stops.cancel()
            was_running = process.returncode is None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await ends
        code = None if was_running and stop.reason else process.returncode
        out.seek(0)
        err.seek(max(0, err.seek(0, os.SEEK_END) - _MOST_OUTPUT))
        return code, out.read(_MOST_OUTPUT).decode("utf-8", "replace"), err.read().decode("utf-8", "replace")


def _check(name: str, code: int | None, out: str, err: str, reason: str, seen: SeenRequests, seconds: float) -> None:
    """Raises the error of a run whose result is not known."""
    if reason in ("loaded", "requests"):
        return
    if seen.problem is not None:
        if isinstance(seen.problem, MetierError):
            raise seen.problem
        raise UnavailableError(f"the model's server did not answer: {seen.problem}", hint="check --model-url")
    if reason == "time":
        raise UnavailableError(f"{name} took longer than {seconds:g} s", hint="allow more with --timeout SECONDS")
    if code or not seen.requests:
        last = next((line for line in reversed(printable(err or out).splitlines()) if line.strip()), "it printed nothing")
        what = f"ended with exit code {code}" if code else "asked no model"
        raise UnavailableError(f"{name} {what}: {last.strip()[:300]}", hint=f"try `{name} --version`, and --agent-model NAME")


def _files(folder: str) -> Iterator[tuple[str, bytes]]:
    files = DiskFiles(folder)
    for entry in files.list():
        yield entry.path, files.read(entry.path, limit=_LARGEST)
