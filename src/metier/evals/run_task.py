"""One task of an eval, done once by a model in a clean context, with a skill or without."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from metier.catalog import Catalog, Entry, State
from metier.models import ChatMessage, ChatModel, Message
from metier.runtime import Permissions, Session, SessionOptions, SessionServices, Tool, call_tool
from metier.values import dataclass, field, replace

from .files import EvalCase
from .task_workspace import TaskWorkspace

__all__ = ["TaskResult", "Variant", "run_task"]

_MAX_REQUESTS = 20
_SYSTEM = """You do one task on your own: questions are not answered. Files of the task can be listed and read with tools;
scripts find them in {inputs}. Results that are files are written with write_file or run_python. Scripts that write files can do
so in their home folder ($HOME, /tmp); files named in their arguments are kept. End with a short answer that says what
the result is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One side of the comparison."""

    name: str
    """with_skill, without_skill or old_skill, as the results folder names it."""
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    answer: str
    tokens: int
    seconds: float
    tool_calls: int = 0
    errors: int = 0
    transcript: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """Every message, in the format of chat completions."""


async def run_task(
    case: EvalCase, variant: Variant, model: ChatModel, workspace: TaskWorkspace, permissions: Permissions
) -> TaskResult:
    started = time.monotonic()
    session = _session(variant.entry, workspace, permissions) if variant.entry else None
    system = _SYSTEM.format(inputs=workspace.inputs)
    if session and variant.entry:
        system += f"\n\nA skill for this task is active. Follow it.\n\n{session.activate(variant.entry.name).text}"
    messages: list[Message] = [ChatMessage.system(system), ChatMessage.user(case.prompt)]
    tokens = calls = errors = 0
    answer = ""
    for _ in range(_MAX_REQUESTS):
        tools = (*(_without_catalog(session.tools()) if session else ()), *workspace.tools())
        reply = await model.ask(messages, tools)
        tokens += reply.tokens
        answer = reply.text or answer
        messages.append(reply)
        if not reply.calls:
            break
        by_name = {tool.name: tool for tool in tools}
        for call in reply.calls:
            result = await call_tool(by_name, call.tool, call.arguments)
            calls, errors = calls + 1, errors + (not result.ok)
            messages.append(ChatMessage.tool(call, result.text))
    return TaskResult(
        answer=answer, tokens=tokens, seconds=time.monotonic() - started, tool_calls=calls, errors=errors,
        transcript=tuple(message.data() for message in messages),
    )  # fmt: skip


def _session(entry: Entry, workspace: TaskWorkspace, permissions: Permissions) -> Session:
    """A session that knows this one skill, whether it is installed or not."""
    usable = entry._replace(state=State.ENABLED, reason="")
    catalog = Catalog((usable,), (), {entry.name: usable})
    services = SessionServices(runner=workspace.around(workspace.runner), permissions=permissions, packages=workspace.packages)
    return Session(catalog, services=services, options=replace(SessionOptions(), limits=workspace.limits))


def _without_catalog(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """The skill is active already; whether it is chosen is the subject of trigger evals."""
    return tuple(tool for tool in tools if tool.name not in ("list_skills", "search_skills", "load_skill", "unload_skill"))
