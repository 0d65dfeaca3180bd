"""Skills for the OpenAI Agents SDK.

    agent = with_skills(Agent(name="Artist", instructions="…"), "skills")
    result = await Runner.run(agent, "Chart the sales.")

The SDK asks an agent for the tools of its MCP servers before every request, which is when ours come and go; so that is
the question we answer too. An MCP server in this process would do the same, but a call of such a tool costs two
milliseconds more, most of it for an answer in parts that the SDK walks through again with every request.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

from metier.errors import UsageError
from metier.runtime import Tool, in_thread
from metier.values import dataclass

from .skills import MissingSdkError, Skills, Source

try:
    from agents.tool_context import ToolContext

    from agents import Agent, FunctionTool, RunContextWrapper
    from agents import Tool as SdkTool
except ImportError:
    raise MissingSdkError("openai-agents") from None

# Any: the context is the caller's own type, and a conversation may depend on it.

__all__ = ["Conversation", "with_skills"]

T = TypeVar("T")
Conversation = str | Callable[[RunContextWrapper[Any]], str]


def with_skills(agent: Agent[T], *skills: Skills | Source, conversation: Conversation = "") -> Agent[T]:
    """The same agent with skills.

    What is active belongs to a conversation. The SDK does not say which one a run is part of, so either adapt the agent
    for each (it costs nothing: share one `Skills`), or give a function that reads it from the run's context.
    """
    if isinstance(agent, _Skilled):
        raise UsageError("this agent has skills already", hint="give all folders at once: the tools of two would have one name")
    brought = _Brought(Skills.of(*skills), conversation)

    async def instructions(context: RunContextWrapper[T], running: Agent[T]) -> str:
        own = agent.instructions
        said: str | Awaitable[str] | None = own(context, running) if callable(own) else own
        text = await said if inspect.isawaitable(said) else said
        return "\n\n".join(part for part in (text, await brought.instructions(context)) if part)

    same = {each.name: getattr(agent, each.name) for each in fields(agent) if each.init}
    made: Agent[T] = _skilled(type(agent))(**same | {"instructions": instructions, "brought": brought})
    return made


@dataclass(frozen=True, slots=True)
class _Brought:
    """Skills for one conversation, or for whichever a run's context says."""

    skills: Skills
    conversation: Conversation

    async def instructions(self, context: RunContextWrapper[Any]) -> str:
        return await self.skills.instructions_soon(self._of(context), request=_last_words(context))

    async def tools(self, context: RunContextWrapper[Any]) -> list[SdkTool]:
        conversation = self._of(context)
        return [self._tool(tool, conversation) for tool in await in_thread(self.skills.tools, conversation)]

    def _tool(self, tool: Tool, conversation: str) -> FunctionTool:
        async def invoke(_: ToolContext[Any], arguments: str) -> str:
            return (await self.skills.call(tool.name, arguments, conversation)).text

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.schema,
            on_invoke_tool=invoke,
            # The tool itself checks its arguments; a strict schema could not say which of them may be left out.
            strict_json_schema=False,
        )

    def _of(self, context: RunContextWrapper[Any]) -> str:
        return self.conversation if isinstance(self.conversation, str) else self.conversation(context)


class _Skilled:
    """What an agent with skills answers beyond its kind. `brought` is a field, because the SDK copies agents by field."""

    brought: _Brought

    async def get_mcp_tools(self, run_context: RunContextWrapper[Any]) -> list[SdkTool]:
        own: list[SdkTool] = await super().get_mcp_tools(run_context)  # type: ignore[misc]
        return own + await self.brought.tools(run_context)


_kinds: dict[type[Any], type[Agent[Any]]] = {}


def _skilled(kind: type[Agent[Any]]) -> type[Agent[Any]]:
    """That kind of agent, be it the SDK's own or another of it, with skills."""
    if kind not in _kinds:
        _kinds[kind] = make_dataclass(kind.__name__, [("brought", _Brought | None, None)], bases=(_Skilled, kind))
    return _kinds[kind]


def _last_words(context: RunContextWrapper[Any]) -> str:
    for item in reversed(context.turn_input):
        if item.get("role") == "user" and isinstance(content := item.get("content"), str):
            return content
    return ""
