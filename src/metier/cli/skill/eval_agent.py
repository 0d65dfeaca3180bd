"""The options of evals that run in an agent program, and the export of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import click

from metier.app import App
from metier.catalog import Entry
from metier.cli.core.result import Result
from metier.cli.core.terminal import Terminal, one_line, plural
from metier.errors import RefusedError, UsageError
from metier.evals import (
    AgentRunner,
    ModelAccess,
    Recording,
    export_harbor,
    find_program,
    isolation_note,
    open_recording,
    start_recording,
)
from metier.hosts import HEADLESS_AGENTS, HOST_ALIASES, HeadlessAgent
from metier.models import ModelChoice
from metier.values import dataclass

__all__ = ["AgentChoice", "agent_options", "export_tasks", "open_agent"]

_NAMES = ("claude-code", "codex", "gemini", "opencode")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    runner: AgentRunner
    jobs: int
    note: str
    """The isolation of the program."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return () if self.runner.sandbox else (self.note,)

    def lines(self, terminal: Terminal) -> tuple[str, ...]:
        return (terminal.paint(f"  {self.note}", "dim"),) if self.runner.sandbox else ()

    def data(self) -> dict[str, Any]:
        return {"agent": self.runner.agent.host, "sandbox": self.runner.sandbox, "isolation": self.note}

    def grader(self, app: App) -> ModelChoice | None:
        """Returns the model that grades; none for a replay, which asks no model."""
        recording = self.runner.recording
        return None if recording and not recording.writes else app.conversations.model()


def agent_options(function: Any) -> Any:  # Any: click's decorators
    """Adds `--agent` and the options that belong to it."""
    for option in reversed(
        (
            click.option("--agent", type=click.Choice(_NAMES), help="Run the evals in this agent program."),
            click.option("--program", type=click.Path(), help="With --agent: the program.  [default: looked up on PATH]"),
            click.option("--agent-model", metavar="NAME", help="With --agent: the model, as the program names it."),
            click.option("--model-url", metavar="URL", help="With --agent: the model's server.  [default: the maker's]"),
            click.option("--key-env", metavar="VARIABLE", help="With --agent: the variable that holds the model's key."),
            click.option("--record", type=click.Path(file_okay=False), help="With --agent: keep the model's answers here."),
            click.option("--replay", type=click.Path(file_okay=False), help="With --agent: answer from this recording."),
            click.option("--no-sandbox", is_flag=True, help="With --agent: run it without a sandbox."),
            click.option("--timeout", type=click.IntRange(1, 7200), default=300, show_default=True,
                         help="With --agent: seconds for one run."),
            click.option("-j", "--jobs", type=click.IntRange(1, 64), default=2, show_default=True,
                         help="With --agent: programs that run at the same time."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


def open_agent(
    app: App, *, agent: str | None, program: str | None, agent_model: str | None, model_url: str | None, key_env: str | None,
    record: str | None, replay: str | None, no_sandbox: bool, timeout: int, jobs: int, offline: bool = False,
) -> AgentChoice | None:  # fmt: skip
    """Returns the program to run evals in, or None without --agent. UsageError for options that contradict each other."""
    if agent is None:
        given = {"--program": program, "--agent-model": agent_model, "--model-url": model_url, "--key-env": key_env,
                 "--record": record, "--replay": replay, "--no-sandbox": no_sandbox}  # fmt: skip
        if needless := next((name for name, value in given.items() if value), ""):
            raise UsageError(f"{needless} needs --agent", hint=f"add --agent {_NAMES[0]}; or leave out {needless}")
        return None
    if record and replay:
        raise UsageError("--record and --replay exclude each other", hint="leave one of them out")
    if offline and not replay:
        raise UsageError("--agent needs a model, and --offline forbids one", hint="leave out --offline, or use --replay DIR")
    known = HEADLESS_AGENTS[HOST_ALIASES.get(agent, agent)]
    file, node = find_program(known, program, app.environment.get("PATH", ""))
    note = isolation_note(sandbox=not no_sandbox)
    access = _access(app, known, agent, model_url, key_env) if not replay else ModelAccess(url="")
    runner = AgentRunner(
        agent=known, program=file, node=node, access=access, model=agent_model or "", sandbox=not no_sandbox,
        seconds=float(timeout), recording=_recording(known, record, replay),
    )  # fmt: skip
    return AgentChoice(runner=runner, jobs=jobs, note=note)


def export_tasks(entries: Sequence[Entry], form: str | None, output: str | None) -> Result:
    """Writes the evals as tasks of another format."""
    if not form or not output:
        missing = "-o DIR" if form else "--export harbor"
        raise UsageError(f"--export and -o belong together; {missing} is missing", hint="--export harbor -o tasks")
    done = export_harbor(entries, output)
    return Result(
        data={"folder": done.folder, "tasks": list(done.tasks), "left_out": list(done.left_out)},
        lines=lambda _: (one_line(f"Wrote {plural(len(done.tasks), 'task')} to {output}"),),
        notes=done.left_out,
    )


def _recording(agent: HeadlessAgent, record: str | None, replay: str | None) -> Recording | None:
    if replay:
        return open_recording(replay, agent=agent.host)
    return start_recording(record, {"agent": agent.host}) if record else None


def _access(app: App, agent: HeadlessAgent, typed: str, model_url: str | None, key_env: str | None) -> ModelAccess:
    settings = str(app.settings["model.base_url"].value or "") if agent.url_suffix else ""
    url = (model_url or settings or agent.model_url).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not the address of a server", hint="use --model-url https://…")
    key = app.environment.get(key_env, "") if key_env else ""
    if key_env and not key:
        raise UsageError(f"the variable {key_env} is not set", hint=f"set it, or leave out --key-env {key_env}")
    if not key and url == agent.model_url:
        raise UsageError(
            f"{parts.hostname} needs a key", hint=f"name the variable that holds it: --agent {typed} --key-env VARIABLE"
        )
    if key and parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise RefusedError(f"{url} is not encrypted, and would get your key", rule="https-only", hint="use an https:// address")
    return ModelAccess(url=url, suffix=agent.url_suffix, key_header=agent.key_header, key=key)
