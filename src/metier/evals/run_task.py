"""One task done once by a model, in a clean context: with a skill, or without."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metier.catalog import Catalog, Entry, State
from metier.errors import MetierError
from metier.runtime import Permissions, Session, SessionOptions, SessionServices, Tool

from .chat import Call, Chat
from .files import EvalCase
from .task_workspace import TaskWorkspace

__all__ = ["TaskResult", "Variant", "run_task"]

_MOST_TURNS = 20
_SYSTEM = """You do one task on your own: nobody can answer questions. Files of the task can be listed and read with tools;
scripts find them in {inputs}. Results that are files are written with write_file or run_python. Scripts that write files can do
so in their home folder ($HOME, /tmp); files named in their arguments are kept. End with a short answer that says what
the result is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One side of the comparison."""

    name: str
    """with_skill, without_skill or old_skill, as the workspace calls it."""
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What came of it."""

    answer: str
    tokens: int
    seconds: float
    tool_calls: int = 0
    errors: int = 0
    transcript: tuple[Any, ...] = field(default=(), repr=False)
    """Every message, in the wire's own shape."""


async def run_task(case: EvalCase, arm: Variant, chat: Chat, desk: TaskWorkspace, permissions: Permissions) -> TaskResult:
    started = time.monotonic()
    session = _session(arm.entry, desk, permissions) if arm.entry else None
    system = _SYSTEM.format(inputs=desk.inputs)
    if session and arm.entry:
        system += f"\n\nA skill for this task is active. Follow it.\n\n{session.activate(arm.entry.name).text}"
    messages: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": case.prompt}]
    tokens = calls = errors = 0
    answer = ""
    for _ in range(_MOST_TURNS):
        tools = (*(_without_catalog(session.tools()) if session else ()), *desk.tools())
        said = await chat(messages, tools)
        tokens += said.tokens
        answer = said.text or answer
        messages.append(said.message)
        if not said.calls:
            break
        for call in said.calls:
            text, ok = await _called(call, tools)
            calls, errors = calls + 1, errors + (not ok)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    seconds = time.monotonic() - started
    return TaskResult(
        answer=answer, tokens=tokens, seconds=seconds, tool_calls=calls, errors=errors, transcript=tuple(messages)
    )


async def _called(call: Call, tools: Sequence[Tool]) -> tuple[str, bool]:
    tool = next((each for each in tools if each.name == call.tool), None)
    if tool is None:
        return f"There is no tool {call.tool!r}. There are: {', '.join(each.name for each in tools)}.", False
    if call.arguments is None:
        return "The arguments are no JSON object. Call it again.", False
    try:
        reply = await tool.call(call.arguments)
    except MetierError as error:
        return f"{error} ({error.hint})", False
    return reply.text, reply.ok


def _session(entry: Entry, desk: TaskWorkspace, permissions: Permissions) -> Session:
    """A session that knows this one skill, whether it is installed or not."""
    usable = entry._replace(state=State.ENABLED, reason="")
    catalog = Catalog((usable,), (), {entry.name: usable})
    services = SessionServices(runner=desk.around(desk.runner), permissions=permissions)
    return Session(catalog, services=services, options=replace(SessionOptions(), limits=desk.limits))


def _without_catalog(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The skill is there already: choosing is another eval."""
    return tuple(tool for tool in tools if tool.name not in ("list_skills", "search_skills", "load_skill", "unload_skill"))
